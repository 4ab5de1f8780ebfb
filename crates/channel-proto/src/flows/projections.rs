//! Records without the fields at which sinks do not look: each is made once for an event, however many sinks share it
//! (`spec/channel.md`, "Fields").
//!
//! A projection changes nothing in what a sink gets, and the source may send whole events at any time. So nothing is refused, counted
//! as lost, or paid for here: making the record costs less than sending the whole event would.

use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use isoform_core::plan::Fields;
use isoform_core::{Element, Faults, Format, Plan, Rules, Structure, Verifier, interp};
use isoform_query::Account;

/// The most projections of a source, and the most that nodes without credentials began. For others it sends whole events.
const MOST: usize = 16;
const OF_STRANGERS: usize = 4;
/// A record is projected if that makes it shorter by this many bytes, and by at least a half.
const SAVED: usize = 512;
/// The bytes that an array of variable length, and a string, are taken to have.
const ARRAY: usize = 1024;
const STRING: usize = 16;
/// A projection is made for so many formats of its source. Events of others are whole.
const FORMATS: usize = 8;

/// The projections of a source.
pub(super) struct Projections<B> {
    all: Vec<Option<Projection<B>>>,
    /// Whether any of them makes a record of the current format.
    is_needed: bool,
    /// A body that was not contiguous.
    body: Vec<u8>,
    /// The latest record.
    made: Vec<u8>,
}

/// Which of them a subscription has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProjectionKey(usize);

struct Projection<B> {
    fields: Fields,
    of_stranger: bool,
    sinks: u32,
    /// For each format of the source, the latest first; `None` where whole events are cheaper.
    narrow: Vec<(Format, Option<Narrow>)>,
    /// What it makes of the current event, once it is needed; `None` in it if that passes whole.
    current: Option<Option<(Format, B)>>,
    /// How many records it has made.
    made: u64,
}

struct Narrow {
    verifier: Verifier,
    plan: Plan,
}

impl<B> Default for Projections<B> {
    fn default() -> Self {
        Projections { all: Vec::new(), is_needed: false, body: Vec::new(), made: Vec::new() }
    }
}

impl<B> Projections<B> {
    /// Whether any subscription gets less than whole events of the current format.
    #[inline]
    pub(super) fn are_needed(&self) -> bool {
        self.is_needed
    }

    /// A subscription whose sink looks at these fields begins, at a source whose events have this format, if that is known.
    /// `None` if it gets whole events.
    pub(super) fn add(
        &mut self,
        paths: &[String],
        is_stranger: bool,
        format: Option<&Format>,
    ) -> Option<ProjectionKey> {
        if paths.is_empty() {
            return None;
        }
        let fields = Fields::at(paths.iter().map(String::as_str))?;
        let known = |other: &Option<Projection<B>>| other.as_ref().is_some_and(|other| other.fields == fields);
        let at = match self.all.iter().position(known) {
            Some(at) => at,
            None => {
                let began = self.all.iter().flatten();
                let (all, strangers) = (began.clone().count(), began.filter(|other| other.of_stranger).count());
                if all >= MOST || is_stranger && strangers >= OF_STRANGERS {
                    return None;
                }
                let (narrow, current) = (Vec::new(), None);
                let new = Some(Projection { fields, of_stranger: is_stranger, sinks: 0, narrow, current, made: 0 });
                match self.all.iter().position(Option::is_none) {
                    Some(free) => (self.all[free] = new, free).1,
                    None => (self.all.push(new), self.all.len() - 1).1,
                }
            }
        };
        if let Some(projection) = &mut self.all[at] {
            projection.sinks += 1;
        }
        self.meet(format);
        Some(ProjectionKey(at))
    }

    /// A subscription ends.
    pub(super) fn remove(&mut self, key: ProjectionKey, format: Option<&Format>) {
        let Some(slot) = self.all.get_mut(key.0) else { return };
        if let Some(projection) = slot {
            projection.sinks -= 1;
            if projection.sinks == 0 {
                *slot = None;
            }
        }
        self.meet(format);
    }

    /// The next events have this format.
    pub(super) fn meet(&mut self, format: Option<&Format>) {
        let Some(format) = format else { return };
        self.is_needed = false;
        for projection in self.all.iter_mut().flatten() {
            self.is_needed |= projection.meet(format);
        }
    }

    /// Another event is being submitted.
    pub(super) fn begin(&mut self) {
        self.all.iter_mut().flatten().for_each(|projection| projection.current = None);
    }

    /// The projections that have made records.
    pub(super) fn reports(&self) -> impl Iterator<Item = QueryReport> {
        let at_work = self.all.iter().flatten().filter(|projection| projection.made > 0);
        at_work.map(|&Projection { ref fields, sinks, made, .. }| {
            let account = Account { evaluated: made, passed: made, ..Account::default() };
            QueryReport { text: format!("fields {fields}"), sinks, unfit: 0, thinned: 0, account }
        })
    }
}

impl<B: Body> Projections<B> {
    /// What a subscription gets in place of the current event; `None` if it gets the event as it is.
    pub(super) fn record(
        &mut self,
        key: ProjectionKey,
        format: &Format,
        draft: &impl Draft<B>,
    ) -> Option<(&Format, &B)> {
        let Projections { all, body, made, .. } = self;
        let projection = all.get_mut(key.0)?.as_mut()?;
        if projection.current.is_none() {
            let bytes = draft.contiguous().unwrap_or_else(|| {
                body.clear();
                draft.pieces(&mut |piece| body.extend_from_slice(piece));
                body
            });
            projection.current = Some(projection.project(format, bytes, made));
        }
        projection.current.as_ref()?.as_ref().map(|(format, body)| (format, body))
    }
}

impl<B> Projection<B> {
    /// Whether it makes records of this format, which is that of the next events.
    fn meet(&mut self, format: &Format) -> bool {
        match self.narrow.iter().position(|(known, _)| known == format) {
            Some(at) => self.narrow[..=at].rotate_right(1),
            // Formats in turns would take a plan for each event.
            None if self.narrow.len() == FORMATS => return false,
            None => self.narrow.insert(0, (format.clone(), narrow(&self.fields, format))),
        }
        self.narrow[0].1.is_some()
    }
}

impl<B: Body> Projection<B> {
    fn project(&mut self, format: &Format, bytes: &[u8], made: &mut Vec<u8>) -> Option<(Format, B)> {
        let (_, narrow) = self.narrow.iter().find(|(known, _)| known == format)?;
        let Narrow { verifier, plan } = narrow.as_ref()?;
        // If the body is not valid, the event passes whole: the sink verifies it as well, and says why.
        interp::run_to(plan, verifier.verify(bytes).ok()?, made).ok()?;
        self.made += 1;
        Some((plan.native().clone(), B::made(plan.native(), made)))
    }
}

/// How records of a format lose their other fields, if that makes them much shorter.
fn narrow(fields: &Fields, format: &Format) -> Option<Narrow> {
    let short = fields.project(format).ok()??;
    let (whole, left) = (length(format.structure()), length(short.structure()));
    if whole - left < SAVED || left > whole / 2 {
        return None;
    }
    let plan = Plan::new(format, &short, &Rules::new(), Faults::Error).ok()?;
    Some(Narrow { verifier: Verifier::new(format), plan })
}

/// About how long records are.
fn length(structure: &Structure) -> usize {
    let beyond = structure.fields().iter().map(|field| {
        let of_each = match &field.element {
            Element::String => STRING,
            Element::Structure(inner) => length(inner) - inner.size(),
            _ => 0,
        };
        let behind = if field.is_dynamic() { ARRAY } else { 0 };
        of_each.saturating_mul(field.fixed_count().unwrap_or(1)).saturating_add(behind)
    });
    beyond.fold(structure.size(), usize::saturating_add)
}
