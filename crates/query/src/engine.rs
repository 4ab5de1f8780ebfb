//! The second engine: the conditions and the results of a query as machine code (`isoform_jit::query`). The interpreter judges it:
//! what it does not take, or is unsure of, is evaluated there.

use crate::check::Checked;
use crate::run::Event;
use isoform_core::View;

/// What evaluates the conditions and the results of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter.
    Interpreter,
    /// Generated code for some of them, and the interpreter for the others.
    Both,
    /// Generated code for all of them.
    Generated,
}

impl Engine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Interpreter => "interpreter",
            Engine::Both => "both",
            Engine::Generated => "generated",
        }
    }
}

/// What each function of machine code takes to make besides its operations, literals and paths: as much as so many of them.
#[cfg(feature = "generate")]
const FUNCTION: usize = 3;

/// What is likely to evaluate a part of a query when code was made for it, and the size of that code. The generator may still refuse some of it.
pub(crate) fn foreseen(checked: &Checked) -> (Engine, u64) {
    #[cfg(feature = "generate")]
    return generated::foreseen(checked);
    #[cfg(not(feature = "generate"))]
    {
        let _ = checked;
        (Engine::Interpreter, 0)
    }
}

/// The number of records after which code is made. Before, making it would take longer than it saves.
const AFTER: u32 = 64;

/// The generated code of a query, if there is some.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The records that are left until code is made.
    left: u32,
    #[cfg(feature = "generate")]
    code: Option<generated::Code>,
}

impl Made {
    /// Code is made later.
    pub(crate) fn new() -> Made {
        Made::after(AFTER)
    }

    /// Code is never made, unless somebody asks for it.
    pub(crate) fn none() -> Made {
        Made::after(0)
    }

    /// Code is made after so many records; never, if that is 0.
    fn after(left: u32) -> Made {
        Made {
            left,
            #[cfg(feature = "generate")]
            code: None,
        }
    }

    /// Counts a record. Returns whether it is time to make code.
    #[inline]
    pub(crate) fn is_time(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.left == 0
    }

    /// Makes code, unless it was tried before.
    pub(crate) fn make(&mut self, checked: &Checked) {
        self.left = 0;
        #[cfg(feature = "generate")]
        if self.code.is_none() {
            self.code = generated::Code::of(checked);
        }
        #[cfg(not(feature = "generate"))]
        let _ = checked;
    }

    /// The engine of the code, or the interpreter.
    #[inline]
    pub(crate) fn engine(&self) -> Engine {
        #[cfg(feature = "generate")]
        return self.code.as_ref().map_or(Engine::Interpreter, generated::Code::engine);
        #[cfg(not(feature = "generate"))]
        Engine::Interpreter
    }

    /// Whether a record passes, and its result if it has one, if there is code for the whole query, and it is sure.
    #[inline(always)]
    pub(crate) fn whole(&self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Option<bool> {
        #[cfg(feature = "generate")]
        return self.code.as_ref()?.whole(view, event, out);
        #[cfg(not(feature = "generate"))]
        {
            let _ = (view, event, out);
            None
        }
    }

    /// The condition of a stage, if there is code for it, and it is sure.
    #[inline]
    pub(crate) fn condition(&self, stage: usize, view: View<'_>, event: Event) -> Option<bool> {
        #[cfg(feature = "generate")]
        return self.code.as_ref()?.condition(stage, view, event);
        #[cfg(not(feature = "generate"))]
        {
            let _ = (stage, view, event);
            None
        }
    }

    /// The result of a record, if there is code for it, and it is sure.
    #[inline]
    pub(crate) fn result(&self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> bool {
        #[cfg(feature = "generate")]
        return self.code.as_ref().is_some_and(|code| code.result(view, event, out));
        #[cfg(not(feature = "generate"))]
        {
            let _ = (view, event, out);
            false
        }
    }
}

#[cfg(feature = "generate")]
mod generated {
    use super::{Engine, FUNCTION};
    use crate::check::{Base, Checked, Node, Passage};
    use crate::outcome::{Made, Outcome};
    use crate::run::Event;
    use crate::tree;
    use isoform_core::View;
    use isoform_jit::query::{self, Expr, Function, Operator, Part, Reduction, Step, Type};
    use std::sync::Arc;

    #[derive(Clone, Debug)]
    pub(super) enum Code {
        /// One function.
        Whole(Arc<query::Code>),
        /// A function for each stage, and for the result, that the generator takes.
        Parts { stages: Box<[Option<Arc<query::Code>>]>, result: Option<Arc<query::Code>>, engine: Engine },
    }

    /// What of a query the generator may take: the whole of it, or a part for each stage and for the result.
    enum Parts {
        Whole(Part),
        Some { stages: Vec<Option<Part>>, result: Option<Part>, others: bool },
    }

    impl Parts {
        fn of(checked: &Checked) -> Parts {
            let is_taken = |part: &Part| part.pieces().is_some();
            if let Some(part) = whole(checked).filter(is_taken) {
                return Parts::Whole(part);
            }
            // Whether something is evaluated of which no part is made: values that are remembered, and the results of windows.
            let mut others = false;
            let mut stage = |stage: &Passage| match stage {
                Passage::Where(node) => {
                    let part = expr(node).map(condition).filter(is_taken);
                    others |= part.is_none();
                    part
                }
                Passage::Changed(_) | Passage::Key(_) | Passage::Window(_) => {
                    others = true;
                    None
                }
                Passage::Every(_) | Passage::Count(_) | Passage::Rate(_) => None,
            };
            let stages = checked.stages.iter().map(&mut stage).collect();
            let is_windowed = matches!(checked.stages.last(), Some(Passage::Window(_)));
            let outcome = checked.outcome.as_ref().filter(|_| !is_windowed);
            let result = outcome.and_then(record).map(made).filter(is_taken);
            others |= outcome.is_some() && result.is_none();
            Parts::Some { stages, result, others }
        }

        fn all(&self) -> Vec<&Part> {
            match self {
                Parts::Whole(part) => vec![part],
                Parts::Some { stages, result, .. } => stages.iter().chain([result]).flatten().collect(),
            }
        }
    }

    /// What is likely to evaluate a part of a query, and the operations of which there would be code.
    pub(super) fn foreseen(checked: &Checked) -> (Engine, u64) {
        let parts = Parts::of(checked);
        let all = parts.all();
        let engine = match &parts {
            _ if all.is_empty() => Engine::Interpreter,
            Parts::Some { others: true, .. } => Engine::Both,
            _ => Engine::Generated,
        };
        (engine, all.into_iter().filter_map(Part::pieces).map(|pieces| FUNCTION + pieces).sum::<usize>() as u64)
    }

    impl Code {
        /// Code for what the generator takes; `None` if that is nothing.
        pub(super) fn of(checked: &Checked) -> Option<Code> {
            let make = |part| query::Code::of(&checked.input, part).map(Arc::new);
            let parts = match Parts::of(checked) {
                Parts::Whole(part) => {
                    if let Some(code) = make(part.clone()) {
                        return Some(Code::Whole(code));
                    }
                    split(part, &checked.stages)
                }
                parts => parts,
            };
            let Parts::Some { stages, result, others } = parts else { return None };
            let (mut is_whole, mut is_some) = (!others, false);
            let mut add = |part: Option<Part>| {
                let wanted = part.is_some();
                let code = part.and_then(make);
                (is_whole, is_some) = (is_whole & (code.is_some() || !wanted), is_some | code.is_some());
                code
            };
            let stages = stages.into_iter().map(&mut add).collect();
            let result = add(result);
            let engine = if is_whole { Engine::Generated } else { Engine::Both };
            is_some.then_some(Code::Parts { stages, result, engine })
        }

        #[inline]
        pub(super) fn engine(&self) -> Engine {
            match self {
                Code::Whole(_) => Engine::Generated,
                Code::Parts { engine, .. } => *engine,
            }
        }

        #[inline(always)]
        pub(super) fn whole(&self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Option<bool> {
            match self {
                Code::Whole(code) => code.answer(view, [event.sequence, event.time, event.place], out),
                Code::Parts { .. } => None,
            }
        }

        pub(super) fn condition(&self, stage: usize, view: View<'_>, event: Event) -> Option<bool> {
            let Code::Parts { stages, .. } = self else { return None };
            stages[stage].as_ref()?.answer(view, [event.sequence, event.time, event.place], &mut Vec::new())
        }

        pub(super) fn result(&self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> bool {
            let Code::Parts { result: Some(code), .. } = self else { return false };
            code.answer(view, [event.sequence, event.time, event.place], out) == Some(true)
        }
    }

    fn condition(condition: Expr) -> Part {
        Part { every: 1, conditions: vec![condition], result: None }
    }

    fn made(made: query::Outcome) -> Part {
        Part { every: 1, conditions: Vec::new(), result: Some(made) }
    }

    /// The parts of a whole that the generator did not take.
    fn split(whole: Part, stages: &[Passage]) -> Parts {
        let mut conditions = whole.conditions.into_iter();
        let mut stage = |stage: &Passage| match stage {
            Passage::Where(_) => conditions.next().map(condition),
            _ => None,
        };
        let stages = stages.iter().map(&mut stage).collect();
        let result = whole.result.map(made);
        Parts::Some { stages, result, others: false }
    }

    /// A query as one part, if it remembers nothing, and the generator may take it.
    fn whole(checked: &Checked) -> Option<Part> {
        let mut part = Part { every: 1, conditions: Vec::new(), result: None };
        for stage in &checked.stages {
            match stage {
                Passage::Every(every) => part.every = *every,
                Passage::Where(node) => part.conditions.push(expr(node)?),
                Passage::Count(_) | Passage::Rate(_) | Passage::Changed(_) | Passage::Key(_) | Passage::Window(_) => {
                    return None;
                }
            }
        }
        if let Some(outcome) = &checked.outcome {
            part.result = Some(record(outcome)?);
        }
        Some(part)
    }

    fn record(outcome: &Outcome) -> Option<query::Outcome> {
        let made = |made: &Made| {
            Some(match made {
                Made::Taken(path, _) => query::Made::Taken(steps(path)),
                Made::Computed(node, ..) => query::Made::Computed(expr(node)?),
            })
        };
        let fields = outcome.values.iter().map(|(name, one)| Some((name.clone(), made(one)?)));
        Some(query::Outcome { format: outcome.format.clone(), fields: fields.collect::<Option<_>>()? })
    }

    fn steps(path: &[tree::Step]) -> Vec<Step> {
        let step = |step: &tree::Step| match step {
            tree::Step::Field(name) => Step::Field(name.clone()),
            tree::Step::Index(index) => Step::Index(*index),
            tree::Step::Slice(tree::Slice { from, to, step }) => Step::Slice { from: *from, to: *to, step: *step },
        };
        path.iter().map(step).collect()
    }

    fn of(base: Base) -> Option<Type> {
        match base {
            Base::Integer => Some(Type::Integer),
            Base::Unsigned => Some(Type::Unsigned),
            Base::Float => Some(Type::Float),
            Base::Truth => Some(Type::Truth),
            Base::Text | Base::Other => None,
        }
    }

    fn boxed(node: &Node) -> Option<Box<Expr>> {
        expr(node).map(Box::new)
    }

    /// An expression for the generator; `None` if it takes no such thing.
    fn expr(node: &Node) -> Option<Expr> {
        Some(match node {
            Node::Integer(number) => match i64::try_from(*number) {
                Ok(number) => Expr::Integer(number),
                Err(_) => Expr::Unsigned(u64::try_from(*number).ok()?),
            },
            Node::Float(number) => Expr::Float(*number),
            Node::Truth(truth) => Expr::Truth(*truth),
            Node::Text(text) => Expr::Text(text.clone()),
            Node::Path(path) => Expr::Path(steps(path)),
            Node::Negative(inner, base) => Expr::Function(Function::Negative, boxed(inner)?, of(*base)?),
            Node::Not(inner) => Expr::Function(Function::Not, boxed(inner)?, Type::Truth),
            Node::Binary(operator, a, b, base) => {
                let (operator, computes) = operator_of(*operator);
                let of = if computes { Some(of(*base)?) } else { None };
                Expr::Binary(operator, boxed(a)?, boxed(b)?, of)
            }
            Node::Guard(operator, a, b) => Expr::Guard(*operator == tree::Operator::Or, boxed(a)?, boxed(b)?),
            Node::In(inner, choices) => Expr::In(boxed(inner)?, choices.iter().map(expr).collect::<Option<_>>()?),
            Node::Call(function, arguments, base) => call(*function, boxed(arguments.first()?)?, of(*base)?)?,
            Node::Choice(parts, base) => {
                let [condition, then, otherwise] = &**parts;
                Expr::Choice(Box::new([expr(condition)?, expr(then)?, expr(otherwise)?]), of(*base)?)
            }
            Node::Sequence => Expr::Sequence,
            Node::Time => Expr::Time,
            Node::Percentile(..) | Node::Hist(..) | Node::Gathered(_) => return None,
        })
    }

    /// The operator, and whether it computes a number.
    fn operator_of(operator: tree::Operator) -> (Operator, bool) {
        match operator {
            tree::Operator::Or => (Operator::Or, false),
            tree::Operator::And => (Operator::And, false),
            tree::Operator::Equal => (Operator::Equal, false),
            tree::Operator::NotEqual => (Operator::NotEqual, false),
            tree::Operator::LessEqual => (Operator::LessEqual, false),
            tree::Operator::GreaterEqual => (Operator::GreaterEqual, false),
            tree::Operator::Less => (Operator::Less, false),
            tree::Operator::Greater => (Operator::Greater, false),
            tree::Operator::Add => (Operator::Add, true),
            tree::Operator::Subtract => (Operator::Subtract, true),
            tree::Operator::Multiply => (Operator::Multiply, true),
            tree::Operator::FloorDivide => (Operator::FloorDivide, true),
            tree::Operator::Divide => (Operator::Divide, true),
            tree::Operator::Remainder => (Operator::Remainder, true),
        }
    }

    fn call(function: tree::Function, inner: Box<Expr>, of: Type) -> Option<Expr> {
        let reduce = |reduction, inner| Some(Expr::Reduce(reduction, inner, of));
        match function {
            tree::Function::Abs => Some(Expr::Function(Function::Abs, inner, of)),
            tree::Function::Floor => Some(Expr::Function(Function::Floor, inner, of)),
            tree::Function::Sqrt => Some(Expr::Function(Function::Sqrt, inner, of)),
            tree::Function::IsNan => Some(Expr::Function(Function::IsNan, inner, of)),
            tree::Function::Len => reduce(Reduction::Len, inner),
            tree::Function::Sum => reduce(Reduction::Sum, inner),
            tree::Function::Mean => reduce(Reduction::Mean, inner),
            tree::Function::Min => reduce(Reduction::Min, inner),
            tree::Function::Max => reduce(Reduction::Max, inner),
            tree::Function::Any => reduce(Reduction::Any, inner),
            tree::Function::All => reduce(Reduction::All, inner),
            tree::Function::Count => reduce(Reduction::Count, inner),
            tree::Function::First => reduce(Reduction::First, inner),
            tree::Function::Last => reduce(Reduction::Last, inner),
            tree::Function::StartsWith
            | tree::Function::Contains
            | tree::Function::Std
            | tree::Function::Percentile
            | tree::Function::Hist
            | tree::Function::Seq
            | tree::Function::Time => None,
        }
    }
}
