//! What came of many pairs, as it is printed.

use std::fmt;

/// What came of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All pairs.
    pub pairs: u64,
    /// Pairs for which there is generated code.
    pub generated: u64,
    /// Pairs for which several generators have made some.
    pub twice: u64,
    /// Pairs that are the interpreter's alone, since no code is generated for them.
    pub interpreted: u64,
    /// Pairs that no receiver would accept: there is no plan.
    pub unplanned: u64,
    /// Records that both engines have converted, into the same bytes.
    pub converted: u64,
    /// Records that both engines have refused, with the same error.
    pub refused: u64,
    /// Bytes of machine code.
    pub code: u64,
    /// Instructions that the model of the processor has executed.
    pub executed: u64,
    /// Conversions that code has done under the model, without leaving the record to the interpreter.
    pub answered: u64,
}

impl Tally {
    /// Adds what came of others.
    pub fn add(&mut self, other: &Tally) {
        self.pairs += other.pairs;
        self.generated += other.generated;
        self.twice += other.twice;
        self.interpreted += other.interpreted;
        self.unplanned += other.unplanned;
        self.converted += other.converted;
        self.refused += other.refused;
        self.code += other.code;
        self.executed += other.executed;
        self.answered += other.answered;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs, {} with generated code ({} KiB; {} by two generators), {} left to the interpreter, {} not planned; \
             by both engines alike {} records converted, {} refused",
            self.pairs,
            self.generated,
            self.code >> 10,
            self.twice,
            self.interpreted,
            self.unplanned,
            self.converted,
            self.refused
        )?;
        match self.executed {
            0 => Ok(()),
            executed => write!(
                f,
                "; {executed} instructions by the model, {} conversions without the interpreter",
                self.answered
            ),
        }
    }
}
