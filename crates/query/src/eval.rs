//! The values of checked expressions for a record: the interpreter, by which other engines are judged.

use crate::check::{Base, Node};
use crate::copy::Source;
use crate::reduce;
use crate::run::{Account, Event};
use crate::tree::{Function, Operator, Step};
use crate::window::Held;
use isoform_core::view::{Array, Item};
use isoform_core::{Element, FloatKind, Machine, Value, View};
use std::cmp::Ordering;

/// What expressions look at, and the account in which they count.
pub(crate) struct Scope<'a, 's> {
    /// The record, if there is one.
    pub(crate) view: Option<View<'a>>,
    pub(crate) event: Event,
    pub(crate) account: &'s mut Account,
    /// What functions over the records of a window have made of them.
    pub(crate) gathered: &'a [Held],
}

/// A single value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'a> {
    Absent,
    Integer(i128),
    Float(f64),
    Truth(bool),
    Text(&'a [u8]),
}

/// A value, or one for each element.
#[derive(Clone, Debug)]
pub(crate) enum Cell<'a> {
    One(Scalar<'a>),
    Many(Vec<Scalar<'a>>),
}

impl<'a> Cell<'a> {
    /// The single value that the checker has promised.
    pub(crate) fn one(self) -> Scalar<'a> {
        match self {
            Cell::One(one) => one,
            Cell::Many(_) => Scalar::Absent,
        }
    }

    /// The elements; `None` if the array as a whole is absent.
    pub(crate) fn many(self) -> Option<Vec<Scalar<'a>>> {
        match self {
            Cell::One(_) => None,
            Cell::Many(many) => Some(many),
        }
    }

    fn map(self, mut function: impl FnMut(Scalar<'a>) -> Scalar<'a>) -> Cell<'a> {
        match self {
            Cell::One(one) => Cell::One(function(one)),
            Cell::Many(many) => Cell::Many(many.into_iter().map(function).collect()),
        }
    }
}

impl Account {
    pub(crate) fn fault<'a>(&mut self) -> Scalar<'a> {
        self.faults += 1;
        Scalar::Absent
    }

    /// An integer within the range of its type.
    pub(crate) fn fit<'a>(&mut self, base: Base, number: Option<i128>) -> Scalar<'a> {
        let fits = |number: &i128| match base {
            Base::Unsigned => u64::try_from(*number).is_ok(),
            _ => i64::try_from(*number).is_ok(),
        };
        number.filter(fits).map_or_else(|| self.fault(), Scalar::Integer)
    }
}

impl Scalar<'_> {
    pub(crate) fn is_true(self) -> bool {
        matches!(self, Scalar::Truth(true))
    }

    pub(crate) fn float(self) -> Option<f64> {
        match self {
            Scalar::Integer(number) => Some(number as f64),
            Scalar::Float(number) => Some(number),
            _ => None,
        }
    }

    fn integer(self) -> Option<i128> {
        match self {
            Scalar::Integer(number) => Some(number),
            _ => None,
        }
    }
}

/// The item at a checked path; `None` behind a null pointer, and beyond the end of an array, which is a fault.
fn item_at<'a>(scope: &mut Scope<'a, '_>, steps: &[Step]) -> Option<Item<'a>> {
    let mut item = Item::Record(scope.view?);
    for step in steps {
        item = match (step, item) {
            (Step::Field(name), Item::Record(view)) => view.field(name).ok()?,
            (Step::Index(index), Item::Array(array)) => match array.get(*index) {
                Some(item) => item,
                None => {
                    scope.account.faults += 1;
                    return None;
                }
            },
            _ => return None,
        };
    }
    Some(item)
}

/// A path up to its first slice, and the rest.
fn slices_of(steps: &[Step]) -> (&[Step], &[Step]) {
    steps.split_at(steps.iter().position(|step| matches!(step, Step::Slice(_))).unwrap_or(steps.len()))
}

/// All elements of the slices of an array, row-major.
fn gather<'a>(array: Array<'a>, slices: &[Step], each: &mut dyn FnMut(Item<'a>)) {
    let mut inner = |index, rest: &[Step]| match array.get(index) {
        Some(Item::Array(array)) => gather(array, rest, each),
        found => each(found.unwrap_or(Item::Null)),
    };
    match slices.split_first() {
        Some((Step::Slice(slice), rest)) => slice.of(array.len()).for_each(|index| inner(index, rest)),
        Some((Step::Index(index), rest)) => inner(*index, rest),
        _ => array.elements().for_each(each),
    }
}

/// The value at a checked path, as it is in the record.
pub(crate) fn taken(scope: &mut Scope<'_, '_>, steps: &[Step]) -> Option<Value> {
    let (path, slices) = slices_of(steps);
    match item_at(scope, path)? {
        Item::Null if !slices.is_empty() => None,
        item => Some(sliced(item, slices)),
    }
}

/// The bytes at a checked path, and the slices of them.
pub(crate) fn source<'a, 's>(scope: &mut Scope<'a, '_>, steps: &'s [Step]) -> Option<(Source<'a>, &'s [Step])> {
    let (path, slices) = slices_of(steps);
    let (last, front) = path.split_last()?;
    let found = match (last, item_at(scope, front)?) {
        (Step::Field(name), Item::Record(view)) => Source::field(view, name),
        (Step::Index(index), Item::Array(array)) => {
            let found = Source::index(array, scope.view?.body(), *index);
            scope.account.faults += u64::from(found.is_none());
            found
        }
        _ => None,
    };
    found.filter(|found| slices.is_empty() || !matches!(found, Source::Null)).map(|found| (found, slices))
}

fn sliced(item: Item<'_>, slices: &[Step]) -> Value {
    match (item, slices.split_first()) {
        (Item::Array(array), Some((Step::Slice(slice), rest))) => {
            let each = |index| array.get(index).map_or(Value::Null, |item| sliced(item, rest));
            Value::Array(slice.of(array.len()).map(each).collect())
        }
        (Item::Array(array), Some((Step::Index(index), rest))) => {
            array.get(*index).map_or(Value::Null, |item| sliced(item, rest))
        }
        (item, _) => item.to_value(),
    }
}

fn scalar(item: Item<'_>) -> Scalar<'_> {
    match item {
        Item::Boolean(truth) => Scalar::Truth(truth),
        Item::Integer(number) => Scalar::Integer(number),
        Item::Float(number) => Scalar::Float(number.to_f64()),
        Item::Symbol(symbol) => Scalar::Text(symbol.name.as_bytes()),
        Item::String(text) => Scalar::Text(text),
        Item::Array(array) => array.text().map_or(Scalar::Absent, Scalar::Text),
        Item::Null | Item::Unsigned(_) | Item::Complex(_) | Item::Char(_) | Item::Record(_) => Scalar::Absent,
    }
}

/// The value of an expression for a record.
pub(crate) fn eval<'a>(node: &'a Node, scope: &mut Scope<'a, '_>) -> Cell<'a> {
    match node {
        Node::Integer(number) => Cell::One(Scalar::Integer(*number)),
        Node::Float(number) => Cell::One(Scalar::Float(*number)),
        Node::Truth(truth) => Cell::One(Scalar::Truth(*truth)),
        Node::Text(text) => Cell::One(Scalar::Text(text)),
        Node::Path(steps) => {
            let (path, slices) = slices_of(steps);
            match item_at(scope, path) {
                Some(Item::Array(array)) if slices.is_empty() && array.text().is_none() => {
                    Cell::Many(array.elements().map(scalar).collect())
                }
                Some(Item::Array(array)) if !slices.is_empty() => {
                    let mut many = Vec::new();
                    gather(array, slices, &mut |item| many.push(scalar(item)));
                    Cell::Many(many)
                }
                found => Cell::One(found.map_or(Scalar::Absent, scalar)),
            }
        }
        Node::Negative(inner, base) => eval(inner, scope).map(|value| match value {
            Scalar::Integer(number) => scope.account.fit(*base, number.checked_neg()),
            Scalar::Float(number) => Scalar::Float(-number),
            other => other,
        }),
        Node::Not(inner) => eval(inner, scope).map(|value| Scalar::Truth(!value.is_true())),
        Node::Guard(operator, left, right) => {
            let left = eval(left, scope).one().is_true();
            let decided = left == (*operator == Operator::Or);
            Cell::One(Scalar::Truth(if decided { left } else { eval(right, scope).one().is_true() }))
        }
        Node::Binary(operator, left, right, base) => {
            let left = eval(left, scope);
            let right = eval(right, scope);
            pairs(*operator, *base, left, right, scope.account)
        }
        Node::In(inner, choices) => {
            let choices: Vec<_> = choices.iter().map(|choice| eval(choice, scope).one()).collect();
            eval(inner, scope).map(|value| {
                Scalar::Truth(choices.iter().any(|choice| compare(value, *choice) == Some(Ordering::Equal)))
            })
        }
        Node::Call(function, arguments, base) => {
            if let [argument] = &**arguments
                && matches!(function, Function::Sum | Function::Mean | Function::Min | Function::Max | Function::Std)
                && let Some(numbers) = doubles(argument, scope)
            {
                return Cell::One(of_numbers(*function, &numbers, scope.account));
            }
            let mut arguments = arguments.iter().map(|argument| eval(argument, scope)).collect::<Vec<_>>().into_iter();
            let first = arguments.next().unwrap_or(Cell::One(Scalar::Absent));
            call(*function, *base, first, arguments.next().map(Cell::one), scope.account)
        }
        Node::Choice(nodes, base) => {
            let [condition, then, otherwise] = &**nodes;
            let holds = eval(condition, scope).one().is_true();
            let value = eval(if holds { then } else { otherwise }, scope);
            value.map(|value| match (value, base) {
                (Scalar::Integer(number), Base::Float) => Scalar::Float(number as f64),
                (Scalar::Integer(number), _) => scope.account.fit(*base, Some(number)),
                (value, _) => value,
            })
        }
        Node::Percentile(inner, percent) => Cell::One(match eval(inner, scope).many() {
            None => Scalar::Absent,
            Some(many) => match reduce::percentile(many.iter().filter_map(|one| one.float()).collect(), *percent) {
                None => scope.account.fault(),
                Some(number) => Scalar::Float(number),
            },
        }),
        Node::Hist(inner, ranges) => match eval(inner, scope).many() {
            None => Cell::One(Scalar::Absent),
            Some(many) => {
                let counts = reduce::hist(many.iter().filter_map(|one| one.float()), *ranges);
                Cell::Many(counts.into_iter().map(|count| Scalar::Integer(count.into())).collect())
            }
        },
        Node::Gathered(number) => scope.gathered.get(*number).map_or(Cell::One(Scalar::Absent), Held::cell),
        Node::Sequence => Cell::One(Scalar::Integer(scope.event.sequence.into())),
        Node::Time => Cell::One(Scalar::Integer(scope.event.time.into())),
    }
}

/// The doubles at a path that leads to an array of them: all at once, without a look at each.
pub(crate) fn doubles(node: &Node, scope: &mut Scope<'_, '_>) -> Option<Vec<f64>> {
    let Node::Path(steps) = node else { return None };
    let (path, []) = slices_of(steps) else { return None };
    let (machine, faults) = (scope.view?.structure().machine(), scope.account.faults);
    match item_at(scope, path) {
        Some(Item::Array(array))
            if matches!(array.element_type(), Element::Float { kind: FloatKind::Ieee, size: 8 })
                && machine.order == Machine::NATIVE.order =>
        {
            let (all, _) = array.bytes().as_chunks();
            Some(all.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
        }
        _ => {
            // The path is looked up again.
            scope.account.faults = faults;
            None
        }
    }
}

/// A binary operation for each element.
fn pairs<'a>(operator: Operator, base: Base, left: Cell<'a>, right: Cell<'a>, account: &mut Account) -> Cell<'a> {
    let mut both = |a, b| binary(operator, base, a, b, account);
    match (left, right) {
        (Cell::Many(a), Cell::One(b)) => Cell::Many(a.into_iter().map(|a| both(a, b)).collect()),
        (Cell::One(a), Cell::Many(b)) => Cell::Many(b.into_iter().map(|b| both(a, b)).collect()),
        (Cell::Many(a), Cell::Many(b)) if a.len() == b.len() => {
            Cell::Many(a.into_iter().zip(b).map(|(a, b)| both(a, b)).collect())
        }
        (Cell::Many(_), Cell::Many(_)) => Cell::One(account.fault()),
        (Cell::One(a), Cell::One(b)) => Cell::One(both(a, b)),
    }
}

fn binary<'a>(operator: Operator, base: Base, a: Scalar<'a>, b: Scalar<'a>, account: &mut Account) -> Scalar<'a> {
    use Operator::*;
    let holds: fn(Ordering) -> bool = match operator {
        Equal => Ordering::is_eq,
        NotEqual => Ordering::is_ne,
        Less => Ordering::is_lt,
        LessEqual => Ordering::is_le,
        Greater => Ordering::is_gt,
        GreaterEqual => Ordering::is_ge,
        And => return Scalar::Truth(a.is_true() && b.is_true()),
        Or => return Scalar::Truth(a.is_true() || b.is_true()),
        Add | Subtract | Multiply | Divide | FloorDivide | Remainder => {
            return match base {
                Base::Float => match (a.float(), b.float()) {
                    (Some(a), Some(b)) => Scalar::Float(of_floats(operator, a, b)),
                    _ => Scalar::Absent,
                },
                _ => match (a.integer(), b.integer()) {
                    (Some(a), Some(b)) => account.fit(base, of_integers(operator, a, b)),
                    _ => Scalar::Absent,
                },
            };
        }
    };
    match (compare(a, b), a, b) {
        (Some(order), ..) => Scalar::Truth(holds(order)),
        // What is no number is unlike everything, and what is absent is neither like nor unlike.
        (None, Scalar::Absent, _) | (None, _, Scalar::Absent) => Scalar::Truth(false),
        (None, ..) => Scalar::Truth(operator == NotEqual),
    }
}

fn of_floats(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => (a / b).floor(),
        // The remainder has the sign of the divisor.
        Operator::Remainder => match a % b {
            rest if rest != 0.0 && (rest < 0.0) != (b < 0.0) => rest + b,
            rest => rest,
        },
        _ => f64::NAN,
    }
}

fn of_integers(operator: Operator, a: i128, b: i128) -> Option<i128> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        // Rounded down, for negative numbers too.
        Operator::FloorDivide => {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        Operator::Remainder => {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        _ => None,
    }
}

/// The order of two values, exact for numbers of all types; `None` if there is none.
pub(crate) fn compare(a: Scalar<'_>, b: Scalar<'_>) -> Option<Ordering> {
    match (a, b) {
        (Scalar::Integer(a), Scalar::Integer(b)) => Some(a.cmp(&b)),
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Integer(a), Scalar::Float(b)) => exact(a, b),
        (Scalar::Float(a), Scalar::Integer(b)) => exact(b, a).map(Ordering::reverse),
        (Scalar::Truth(a), Scalar::Truth(b)) => Some(a.cmp(&b)),
        (Scalar::Text(a), Scalar::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// An integer of at most 64 bits against a float. The cast saturates far beyond every such integer.
fn exact(integer: i128, float: f64) -> Option<Ordering> {
    let floor = float.floor();
    match float.is_nan() {
        true => None,
        false if floor < float => Some(integer.cmp(&(floor as i128)).then(Ordering::Less)),
        false => Some(integer.cmp(&(floor as i128))),
    }
}

fn call<'a>(
    function: Function,
    base: Base,
    first: Cell<'a>,
    second: Option<Scalar<'a>>,
    account: &mut Account,
) -> Cell<'a> {
    let part = match second {
        Some(Scalar::Text(part)) => Some(part),
        _ => None,
    };
    let each: &mut dyn FnMut(Scalar<'a>) -> Scalar<'a> = match function {
        Function::Abs => &mut |value| match value {
            Scalar::Integer(number) => account.fit(base, number.checked_abs()),
            Scalar::Float(number) => Scalar::Float(number.abs()),
            other => other,
        },
        Function::Floor => &mut |value| match value {
            Scalar::Float(number) => Scalar::Float(number.floor()),
            other => other,
        },
        Function::Sqrt => &mut |value| value.float().map_or(Scalar::Absent, |number| Scalar::Float(number.sqrt())),
        Function::IsNan => &mut |value| Scalar::Truth(matches!(value, Scalar::Float(number) if number.is_nan())),
        Function::StartsWith => &mut |value| match (value, part) {
            (Scalar::Text(text), Some(part)) => Scalar::Truth(text.starts_with(part)),
            _ => Scalar::Truth(false),
        },
        Function::Contains => &mut |value| match (value, part) {
            (Scalar::Text(text), Some(part)) => Scalar::Truth(memchr::memmem::find(text, part).is_some()),
            _ => Scalar::Truth(false),
        },
        Function::Len => {
            return Cell::One(match first {
                Cell::Many(many) => Scalar::Integer(many.len() as i128),
                Cell::One(Scalar::Text(text)) => Scalar::Integer(text.len() as i128),
                Cell::One(_) => Scalar::Absent,
            });
        }
        _ => return Cell::One(first.many().map_or(Scalar::Absent, |many| reduced(function, base, &many, account))),
    };
    first.map(each)
}

/// Floats as a single one.
fn of_numbers<'a>(function: Function, numbers: &[f64], account: &mut Account) -> Scalar<'a> {
    match function {
        Function::Sum => Scalar::Float(reduce::sum(numbers)),
        _ if numbers.is_empty() => account.fault(),
        Function::Mean => Scalar::Float(reduce::sum(numbers) / numbers.len() as f64),
        Function::Std => Scalar::Float(reduce::std(numbers)),
        Function::Min => Scalar::Float(reduce::min(numbers)),
        _ => Scalar::Float(reduce::max(numbers)),
    }
}

/// An array as a single value. Absent elements are left out.
fn reduced<'a>(function: Function, base: Base, many: &[Scalar<'a>], account: &mut Account) -> Scalar<'a> {
    match function {
        Function::Any => return Scalar::Truth(many.iter().any(|value| value.is_true())),
        Function::All => return Scalar::Truth(many.iter().all(|value| value.is_true())),
        Function::Count => return Scalar::Integer(many.iter().filter(|value| value.is_true()).count() as i128),
        Function::First => return many.first().copied().unwrap_or_else(|| account.fault()),
        Function::Last => return many.last().copied().unwrap_or_else(|| account.fault()),
        Function::Std => {
            let numbers: Vec<f64> = many.iter().filter_map(|value| value.float()).collect();
            return of_numbers(function, &numbers, account);
        }
        _ => {}
    }
    if many.iter().any(|value| matches!(value, Scalar::Float(_))) || (base == Base::Float && function != Function::Mean)
    {
        let numbers: Vec<f64> = many.iter().filter_map(|value| value.float()).collect();
        return of_numbers(function, &numbers, account);
    }
    let numbers = many.iter().filter_map(|value| value.integer());
    let found = match function {
        Function::Sum => return account.fit(base, Some(numbers.sum())),
        Function::Mean => {
            let (sum, count) = numbers.fold((0i128, 0u64), |(sum, count), number| (sum + number, count + 1));
            (count > 0).then(|| Scalar::Float(sum as f64 / count as f64))
        }
        Function::Min => numbers.min().map(Scalar::Integer),
        Function::Max => numbers.max().map(Scalar::Integer),
        _ => None,
    };
    found.unwrap_or_else(|| account.fault())
}
