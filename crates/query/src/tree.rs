//! What a text says, before it meets a format.

/// A stage of a query.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Only records for which this is true go on.
    Where(Expr),
    /// Only one of so many records goes on.
    Every(u64),
    /// At most one record in so many nanoseconds goes on.
    Rate(u64),
    /// Only records whose value is another one than that of the last record go on.
    Changed(Changed),
    /// What follows has a state for each combination of these values.
    Key(Vec<Expr>),
    /// Records are taken together.
    Window(Span),
    /// These values make the result.
    Select(Vec<Item>),
}

/// The length and the step of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// So many records, and each so many.
    Records(u64, u64),
    /// So many nanoseconds, and each so many.
    Time(u64, u64),
}

/// What `changed` looks at.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) expr: Expr,
    /// The least difference: a literal.
    pub(crate) by: Expr,
    /// A record goes on after so many nanoseconds, too.
    pub(crate) every: Option<u64>,
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
    Choice(Box<Choice>),
    Call(Function, Vec<Expr>),
}

/// `then if condition else otherwise`.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) condition: Expr,
    pub(crate) then: Expr,
    pub(crate) otherwise: Expr,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Box<str>),
    Index(usize),
    Slice(Slice),
}

/// Some elements of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) from: usize,
    /// The first element that is not taken, unless that is the end.
    pub(crate) to: Option<usize>,
    pub(crate) step: usize,
}

impl Slice {
    /// The elements that it takes of so many.
    pub(crate) fn of(self, length: usize) -> impl ExactSizeIterator<Item = usize> {
        let to = self.to.unwrap_or(length).min(length);
        (self.from.min(to)..to).step_by(self.step)
    }
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
        Len "len", Sum "sum", Mean "mean", Min "min", Max "max", Std "std", Percentile "percentile", Hist "hist",
        Any "any", All "all", Count "count", First "first", Last "last",
        StartsWith "startswith", Contains "contains",
        Seq "seq", Time "time",
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
    /// The least and the greatest number of its arguments.
    pub(crate) fn arguments(self) -> (usize, usize) {
        match self {
            Function::Seq | Function::Time => (0, 0),
            Function::Count => (0, 1),
            Function::StartsWith | Function::Contains | Function::Percentile => (2, 2),
            Function::Hist => (4, 4),
            _ => (1, 1),
        }
    }

    /// Whether it takes the values of an array together; behind a window, those of all records.
    pub(crate) fn gathers(self) -> bool {
        use Function::*;
        matches!(self, Sum | Mean | Min | Max | Std | Percentile | Hist | Any | All | Count | First | Last)
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
