//! The functions of a component, found by walking its exports. Nothing is instantiated.

use super::docs::Docs;
use super::shape::{Reader, Shape};
use super::{name, schema};
use model::tool::{Annotations, ToolSpec};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentExtern, ComponentFunc, ComponentItem};

/// Instances inside each other.
const NESTING: usize = 4;
/// Exports that are looked at.
const EXPORTS: usize = 1024;

/// A function that can be called with JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Of the tool.
    pub name: String,
    /// Names of the instances that it lies in, then its own.
    pub path: Vec<String>,
    pub parameters: Vec<(String, Shape)>,
    pub results: Vec<Shape>,
}

/// What a component offers, and what it does not and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reflected {
    pub functions: Vec<Function>,
    pub left_out: Vec<String>,
}

/// All functions of a component, in the order of its exports.
#[must_use]
pub fn reflect(component: &Component, engine: &Engine) -> Reflected {
    let mut walk = Walk { engine, found: Reflected::default(), seen: 0 };
    walk.exports(&[], component.component_type().exports(engine));
    walk.found
}

struct Walk<'a> {
    engine: &'a Engine,
    found: Reflected,
    seen: usize,
}

impl Walk<'_> {
    fn exports<'a>(&mut self, above: &[String], exports: impl Iterator<Item = (&'a str, ComponentExtern<'a>)>) {
        for (name, export) in exports {
            self.seen += 1;
            if self.seen > EXPORTS {
                return;
            }
            let path = [above, &[name.to_owned()]].concat();
            match export.ty {
                ComponentItem::ComponentFunc(function) => self.function(path, &function),
                ComponentItem::ComponentInstance(instance) if path.len() <= NESTING => {
                    self.exports(&path, instance.exports(self.engine));
                }
                // A component inside is a recipe for an instance, not one: there is nothing to call.
                _ => {}
            }
        }
    }

    fn function(&mut self, path: Vec<String>, ty: &ComponentFunc) {
        let Some((own, above)) = path.split_last() else { return };
        // Functions of resources: `[method]thing.name`.
        if name::is_toolchains(above.first().map(String::as_str), own) || own.starts_with('[') {
            return;
        }
        match self.read(&path, ty) {
            Ok(function) => self.found.functions.push(function),
            Err(why) => self.found.left_out.push(format!("{}: {why}", path.join("."))),
        }
    }

    fn read(&self, path: &[String], ty: &ComponentFunc) -> Result<Function, &'static str> {
        let name = name::of_tool(path)?;
        if self.found.functions.iter().any(|f| f.name == name) {
            return Err("another function has its name");
        }
        let mut reader = Reader::default();
        let parameters =
            ty.params().map(|(name, ty)| reader.read(&ty).map(|s| (name.to_owned(), s))).collect::<Result<_, _>>()?;
        let results = ty.results().map(|ty| reader.read(&ty)).collect::<Result<_, _>>()?;
        Ok(Function { name, path: path.to_vec(), parameters, results })
    }
}

impl Function {
    /// Nothing is known of what it does: each act is judged when it happens.
    #[must_use]
    pub fn spec(&self, docs: &Docs) -> ToolSpec {
        let (function, above) = self.path.split_last().map_or(("", &[][..]), |(own, above)| (own.as_str(), above));
        let interface = above.first().map(String::as_str);
        let stock = || match interface {
            Some(interface) => format!("Calls the function `{function}` of `{interface}`."),
            None => format!("Calls the function `{function}`."),
        };
        ToolSpec {
            name: self.name.clone(),
            description: docs.of(interface, function).unwrap_or_else(stock),
            input_schema: schema::of_parameters(&self.parameters),
            annotations: Annotations { destructive: true, open_world: true, ..Annotations::default() },
            scopes: Vec::new(),
        }
    }
}
