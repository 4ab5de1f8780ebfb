//! What a text says, before it meets a format.

/// A stage of a query.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Only records for which this is true go on.
    Where(Expr),
    /// Only one of so many records goes on.
    Every(u64),
    /// These values make the result.
    Select(Vec<Item>),
}

/// A named value of a result.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) name: Box<str>,
    pub(crate) expr: Expr,
}

/// An expression, and where it is in the text, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Integer(u64, Option<Box<str>>),
    Float(f64, Option<Box<str>>),
    Text(Box<str>),
    Truth(bool),
    Path(Vec<Step>),
    Negative(Box<Expr>),
    Not(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// One of these.
    In(Box<Expr>, Vec<Expr>),
    Call(Function, Vec<Expr>),
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Box<str>),
    Index(usize),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),* }

        impl $name {
            pub(crate) const ALL: &[$name] = &[$($name::$variant),*];

            pub(crate) fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }
    };
}

words! {
    /// What stands between two expressions.
    Operator {
        Or "or", And "and",
        Equal "==", NotEqual "!=", LessEqual "<=", GreaterEqual ">=", Less "<", Greater ">",
        Add "+", Subtract "-",
        Multiply "*", FloorDivide "//", Divide "/", Remainder "%",
    }
}

words! {
    /// What has arguments.
    Function {
        Abs "abs", Floor "floor", Sqrt "sqrt", IsNan "isnan",
        Len "len", Sum "sum", Mean "mean", Min "min", Max "max", Any "any", All "all",
        StartsWith "startswith", Contains "contains",
    }
}

impl Operator {
    /// How strongly it binds: more than all operators of a smaller number.
    pub(crate) fn strength(self) -> u8 {
        use Operator::*;
        match self {
            Or => 1,
            And => 2,
            Equal | NotEqual | LessEqual | GreaterEqual | Less | Greater => COMPARISON,
            Add | Subtract => COMPARISON + 1,
            Multiply | FloorDivide | Divide | Remainder => COMPARISON + 2,
        }
    }
}

/// The strength of `not`, between `and` and comparisons.
pub(crate) const NOT: u8 = 3;
/// The strength of comparisons and `in`, which do not follow each other.
pub(crate) const COMPARISON: u8 = 4;
/// The strength of a sign.
pub(crate) const SIGN: u8 = 7;

impl Function {
    /// The number of its arguments.
    pub(crate) fn arguments(self) -> usize {
        match self {
            Function::StartsWith | Function::Contains => 2,
            _ => 1,
        }
    }
}

/// Words that are not names of fields, unless they stand in backquotes.
pub(crate) const RESERVED: &[&str] = &[
    "and", "or", "not", "in", "true", "false", "where", "select", "every", "changed", "by", "window", "key", "if",
    "else",
];

/// Whether a name can stand in a query as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.contains(&name)
}
