//! Types of the component model as plain data.

use wasmtime::component::Type;

/// Types inside each other.
const DEPTH: usize = 32;
/// Types in one signature, each counted where it is used: a handful of records can stand for billions of fields.
pub const NODES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

impl Int {
    pub fn least(self) -> i128 {
        match self {
            Self::S8 => i8::MIN.into(),
            Self::S16 => i16::MIN.into(),
            Self::S32 => i32::MIN.into(),
            Self::S64 => i64::MIN.into(),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => 0,
        }
    }

    pub fn greatest(self) -> i128 {
        match self {
            Self::S8 => i8::MAX.into(),
            Self::U8 => u8::MAX.into(),
            Self::S16 => i16::MAX.into(),
            Self::U16 => u16::MAX.into(),
            Self::S32 => i32::MAX.into(),
            Self::U32 => u32::MAX.into(),
            Self::S64 => i64::MAX.into(),
            Self::U64 => u64::MAX.into(),
        }
    }

    /// Whether there are values that many readers of JSON numbers round.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }
}

/// A type whose values can be written in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Bool,
    Int(Int),
    Float32,
    Float64,
    Char,
    Text,
    List(Box<Self>),
    /// A list of exactly so many.
    Array(Box<Self>, usize),
    Map(Box<Self>, Box<Self>),
    Record(Vec<(String, Self)>),
    Tuple(Vec<Self>),
    Variant(Vec<(String, Option<Self>)>),
    Enum(Vec<String>),
    Option(Box<Self>),
    Result(Option<Box<Self>>, Option<Box<Self>>),
    Flags(Vec<String>),
}

impl Shape {
    pub fn is_option(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

/// Reads the types of one signature, within bounds.
pub struct Reader {
    left: usize,
    depth: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self { left: NODES, depth: DEPTH }
    }
}

type Read<T> = Result<T, &'static str>;

impl Reader {
    /// # Errors
    /// What about the type cannot be put in JSON, or is too much.
    pub fn read(&mut self, ty: &Type) -> Read<Shape> {
        self.left = self.left.checked_sub(1).ok_or("its types are too large")?;
        self.depth = self.depth.checked_sub(1).ok_or("its types lie too deep in each other")?;
        let shape = self.shape(ty);
        self.depth += 1;
        shape
    }

    fn shape(&mut self, ty: &Type) -> Read<Shape> {
        Ok(match ty {
            Type::Bool => Shape::Bool,
            Type::S8 => Shape::Int(Int::S8),
            Type::U8 => Shape::Int(Int::U8),
            Type::S16 => Shape::Int(Int::S16),
            Type::U16 => Shape::Int(Int::U16),
            Type::S32 => Shape::Int(Int::S32),
            Type::U32 => Shape::Int(Int::U32),
            Type::S64 => Shape::Int(Int::S64),
            Type::U64 => Shape::Int(Int::U64),
            Type::Float32 => Shape::Float32,
            Type::Float64 => Shape::Float64,
            Type::Char => Shape::Char,
            Type::String => Shape::Text,
            Type::List(list) => Shape::List(self.boxed(&list.ty())?),
            Type::FixedLengthList(list) => {
                Shape::Array(self.boxed(&list.ty())?, usize::try_from(list.len()).unwrap_or(usize::MAX))
            }
            Type::Map(map) => Shape::Map(self.boxed(&map.key())?, self.boxed(&map.value())?),
            Type::Record(record) => {
                let field = |f: wasmtime::component::types::Field<'_>| Ok((f.name.to_owned(), self.read(&f.ty)?));
                Shape::Record(record.fields().map(field).collect::<Read<_>>()?)
            }
            Type::Tuple(tuple) => Shape::Tuple(tuple.types().map(|t| self.read(&t)).collect::<Read<_>>()?),
            Type::Variant(variant) => {
                let case = |c: wasmtime::component::types::Case<'_>| {
                    Ok((c.name.to_owned(), c.ty.map(|t| self.read(&t)).transpose()?))
                };
                Shape::Variant(variant.cases().map(case).collect::<Read<_>>()?)
            }
            Type::Enum(names) => Shape::Enum(self.names(names.names())?),
            Type::Option(option) => Shape::Option(self.boxed(&option.ty())?),
            Type::Result(result) => {
                let ok = result.ok().map(|t| self.boxed(&t)).transpose()?;
                Shape::Result(ok, result.err().map(|t| self.boxed(&t)).transpose()?)
            }
            Type::Flags(names) => Shape::Flags(self.names(names.names())?),
            Type::Own(_) | Type::Borrow(_) => return Err("it takes or gives a resource"),
            Type::Future(_) | Type::Stream(_) => return Err("it takes or gives a stream or future"),
            Type::ErrorContext => return Err("it takes or gives an error context"),
        })
    }

    fn boxed(&mut self, ty: &Type) -> Read<Box<Shape>> {
        self.read(ty).map(Box::new)
    }

    fn names<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a str>) -> Read<Vec<String>> {
        self.left = self.left.checked_sub(names.len()).ok_or("its types are too large")?;
        Ok(names.map(str::to_owned).collect())
    }
}
