//! What each server knows, as data.

/// How a schema is put for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub refs: Refs,
    pub unions: Unions,
    pub consts: Consts,
    pub enums: Enums,
    pub tuples: Tuples,
    pub types: Types,
    pub root: Root,
    pub keywords: Keywords,
}

/// References to another place of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    Keep,
    /// Nothing may stand beside one.
    Alone,
    /// What is referred to takes its place; what refers to itself ends in an object of any kind.
    Inline,
}

/// Lists of types, and combinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unions {
    Keep,
    /// `anyOf` alone: `oneOf` becomes it, `allOf` is merged.
    AnyOf,
    /// As `AnyOf`, and nothing may stand beside it; null is said by `nullable`.
    Nullable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consts {
    Keep,
    /// A list of one.
    Enum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enums {
    Keep,
    /// Texts only. Numbers stay numbers, and what they may be is said in the description: as texts they would come back as texts, and
    /// the tool would refuse them.
    Texts,
}

/// Lists in which each place has a schema of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuples {
    Keep,
    /// The first place counts for all.
    First,
    /// Any of the places' schemas.
    AnyOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    AsGiven,
    /// Every schema has a type, and is no boolean.
    Inferred,
}

/// The schema of all parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    AsGiven,
    /// No combination at the top: its branches are merged.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keywords {
    All,
    /// No others; bounds that exclude themselves become such that do not.
    Only(&'static [&'static str]),
}

const ALL: Rules = Rules {
    refs: Refs::Keep,
    unions: Unions::Keep,
    consts: Consts::Keep,
    enums: Enums::Keep,
    tuples: Tuples::Keep,
    types: Types::AsGiven,
    root: Root::AsGiven,
    keywords: Keywords::All,
};

/// OpenAI and what follows it, without its strict mode.
pub const OPENAI: Rules = Rules { consts: Consts::Enum, types: Types::Inferred, root: Root::Plain, ..ALL };

/// Moonshot's Kimi.
pub const MOONSHOT: Rules = Rules { refs: Refs::Alone, tuples: Tuples::First, root: Root::Plain, ..ALL };

/// Anthropic: all of it, but no combination at the top.
pub const ANTHROPIC: Rules = Rules { root: Root::Plain, ..ALL };

/// The field `parameters` of a function declaration (ai.google.dev/api/caching#Schema).
pub const GEMINI: Rules = Rules {
    refs: Refs::Inline,
    unions: Unions::Nullable,
    consts: Consts::Enum,
    enums: Enums::Texts,
    tuples: Tuples::AnyOf,
    types: Types::Inferred,
    root: Root::Plain,
    keywords: Keywords::Only(&[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
        "items",
        "minimum",
        "maximum",
    ]),
};

/// Ollama's own protocol reads a schema into a fixed shape and forgets the rest, references above all.
pub const OLLAMA: Rules = Rules {
    refs: Refs::Inline,
    unions: Unions::AnyOf,
    consts: Consts::Enum,
    tuples: Tuples::AnyOf,
    types: Types::Inferred,
    root: Root::Plain,
    ..ALL
};
