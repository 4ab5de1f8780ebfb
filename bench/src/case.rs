//! How the sender's record differs from the receiver's.

use crate::{Result, Workload};
use isoform_core::{Format, Layout};

/// One difference. The receiver is always this project's reference machine, x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// There is none.
    Same,
    /// The sender has one more double, at the end.
    Appended,
    /// The sender has one more double, in front.
    Front,
    /// The sender has one more double, in the middle.
    Middle,
    /// The sender has the other byte order: s390x.
    Swap,
    /// Both: one more double in front, and the other byte order.
    SwapFront,
    /// Both: one more double at the end, and the other byte order.
    SwapAppended,
    /// The sender has the other byte order and 32 bits: powerpc.
    Swap32,
    /// The sender has the same byte order and 32 bits: i386.
    Layout32,
    /// The sender's numbers of 8 bytes have 4, and all that have 4 there have 8 here.
    Widen,
    /// The reverse, with checks.
    Narrow,
    /// The receiver wants three of a hundred fields; the sender has the other byte order.
    Project,
    /// The sender has the fields in another order, and the other byte order.
    Shuffled,
}

impl Case {
    /// All of them.
    pub const ALL: &[Case] = &[
        Case::Same,
        Case::Appended,
        Case::Front,
        Case::Middle,
        Case::Swap,
        Case::SwapFront,
        Case::SwapAppended,
        Case::Swap32,
        Case::Layout32,
        Case::Widen,
        Case::Narrow,
        Case::Project,
        Case::Shuffled,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Case::Same => "same",
            Case::Appended => "appended",
            Case::Front => "front",
            Case::Middle => "middle",
            Case::Swap => "swap",
            Case::SwapFront => "swapfront",
            Case::SwapAppended => "swapappended",
            Case::Swap32 => "swap32",
            Case::Layout32 => "layout32",
            Case::Widen => "widen",
            Case::Narrow => "narrow",
            Case::Project => "project",
            Case::Shuffled => "shuffled",
        }
    }

    /// What is sent and what is wanted, or `None` where the case makes no sense: a projection of few fields, another
    /// order of one.
    ///
    /// # Errors
    /// If the workload cannot be laid out.
    pub fn formats(self, workload: &Workload) -> Result<Option<(Format, Format)>> {
        let (mut wire, mut native) = (workload.clone(), workload.clone());
        let mut sender = Layout::X86_64;
        match self {
            Case::Same => {}
            Case::Appended => wire.fields().push(extra()),
            Case::Front => wire.fields().insert(0, extra()),
            Case::Middle => {
                let middle = wire.fields().len() / 2;
                wire.fields().insert(middle, extra());
            }
            Case::Swap => sender = Layout::S390X,
            Case::SwapFront => {
                sender = Layout::S390X;
                wire.fields().insert(0, extra());
            }
            Case::SwapAppended => {
                sender = Layout::S390X;
                wire.fields().push(extra());
            }
            Case::Swap32 => sender = Layout::POWERPC,
            Case::Layout32 => sender = Layout::I386,
            Case::Widen => (wire, native) = (retyped(workload, narrow), retyped(workload, wide)),
            Case::Narrow => (wire, native) = (retyped(workload, wide), retyped(workload, narrow)),
            Case::Project => {
                sender = Layout::S390X;
                let mut index = 0..;
                native.fields().retain(|_| index.next().is_some_and(|i: usize| matches!(i, 11 | 48 | 90)));
                if native.fields().len() < 3 {
                    return Ok(None);
                }
            }
            Case::Shuffled => {
                sender = Layout::S390X;
                if wire.records.iter().all(|record| record.fields.len() < 2) {
                    return Ok(None);
                }
                wire.records.iter_mut().for_each(|record| shuffle(&mut record.fields));
            }
        }
        Ok(Some((wire.on(&sender)?, native.on(&Layout::X86_64)?)))
    }
}

fn extra() -> (String, String) {
    ("unexpected".into(), "double".into())
}

fn retyped(workload: &Workload, word: impl Fn(&str) -> &str) -> Workload {
    let mut workload = workload.clone();
    for (_, words) in workload.records.iter_mut().flat_map(|record| &mut record.fields) {
        let end = words.find('[').unwrap_or(words.len());
        *words = format!("{}{}", word(&words[..end]), &words[end..]);
    }
    workload
}

fn narrow(word: &str) -> &str {
    match word {
        "double" | "f64" => "f32",
        "i64" => "i32",
        other => other,
    }
}

fn wide(word: &str) -> &str {
    match word {
        "float" | "f32" => "f64",
        "int" | "i32" => "i64",
        other => other,
    }
}

/// An order without a pattern, the same in every run.
fn shuffle(fields: &mut [(String, String)]) {
    let mut random = 1u64;
    for last in (1..fields.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        fields.swap(last, (random >> 33) as usize % (last + 1));
    }
}
