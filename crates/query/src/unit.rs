//! Units of measurement: whether two are the same, and what a product has.

use crate::lex::plain_unit;
use std::collections::BTreeMap;
use std::fmt;

/// A product of powers of names; a text of another form is a name of its own. Units are compared by name alone: `km` is
/// another unit than `m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit(BTreeMap<Box<str>, i32>);

impl Unit {
    pub(crate) fn parse(text: &str) -> Unit {
        Unit::product_of(text).unwrap_or_else(|| Unit([(text.into(), 1)].into()))
    }

    fn product_of(text: &str) -> Option<Unit> {
        let (mut rest, mut sign) = text.strip_prefix("1/").map_or((text, 1), |rest| (rest, -1));
        if rest.is_empty() || plain_unit(rest) != rest {
            return None;
        }
        let mut powers = Unit(BTreeMap::new());
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            let (name, power) = match rest[..end].split_once('^') {
                Some((name, power)) => (name, power.parse::<i32>().ok().filter(|power| (1..=99).contains(power))?),
                None => (&rest[..end], 1),
            };
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return None;
            }
            powers.multiply(name, sign * power);
            match rest[end..].chars().next() {
                None => return Some(powers),
                Some(c) => sign = if c == '/' { -1 } else { 1 },
            }
            rest = &rest[end + 1..];
        }
    }

    fn multiply(&mut self, name: &str, power: i32) {
        let sum = self.0.get(name).copied().unwrap_or(0).saturating_add(power);
        match sum {
            0 => self.0.remove(name),
            _ => self.0.insert(name.into(), sum),
        };
    }

    /// The unit of a product with a number of another unit; or of a quotient, if `sign` is -1.
    pub(crate) fn times(mut self, other: &Unit, sign: i32) -> Unit {
        other.0.iter().for_each(|(name, power)| self.multiply(name, sign * power));
        self
    }

    /// The unit of a square root; `None` if there is none.
    pub(crate) fn root(self) -> Option<Unit> {
        let halves = self.0.into_iter().map(|(name, power)| (power % 2 == 0).then_some((name, power / 2)));
        halves.collect::<Option<_>>().map(Unit)
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Unit {
    /// `kg*m/s^2`: names in order, those with positive powers first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down): (Vec<_>, Vec<_>) = self.0.iter().partition(|(_, power)| **power > 0);
        if up.is_empty() {
            f.write_str("1")?;
        }
        for (index, (sign, (name, power))) in
            up.into_iter().map(|p| ("*", p)).chain(down.into_iter().map(|p| ("/", p))).enumerate()
        {
            f.write_str(if index == 0 && sign == "*" { "" } else { sign })?;
            f.write_str(name)?;
            if power.abs() != 1 {
                write!(f, "^{}", power.abs())?;
            }
        }
        Ok(())
    }
}
