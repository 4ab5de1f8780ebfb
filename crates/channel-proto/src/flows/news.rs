//! The other events of a sink: sources that join and leave, and lost events. No window limits these, so they count
//! against the link over which they arrived.

use super::inbox::Item;
use super::{Flows, Sink};
use crate::account::Gap;
use crate::keys::{LinkKey, ReceivingKey, SinkKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::offer::Offer;
use crate::parameters::Given;
use isoform_core::Error;

/// The most memory for items besides records that one link may cause at a sink that takes nothing. It is also the limit
/// for all links together that have ended.
const NEWS: usize = 4 << 20;

impl<B: Body, S: Storage> Flows<B, S> {
    /// Adds an item other than a record to a sink.
    pub(super) fn tell(&mut self, links: &mut Links<B>, from: Option<LinkKey>, sink: SinkKey, item: Item) {
        let Some(entry) = self.sinks.get_mut(sink) else { return };
        let news = news_of(&item);
        entry.refused += u64::from(matches!(item, Item::Refused(..)));
        entry.inbox.tell(item);
        self.count_news(from, sink, news);
        self.wake(links, sink);
    }

    /// Tells a sink about a member whose sources it cannot have, since the member cannot be reached.
    pub(crate) fn tell_missed(&mut self, links: &mut Links<B>, sink: SinkKey, source: SourceRef, error: Error) {
        // It counts as what an ended link has sent: nobody is there to count it against.
        if self.sinks.get(sink).is_some_and(|entry| entry.old_news <= NEWS) {
            let item = Item::Refused(source, error);
            let news = news_of(&item);
            self.tell(links, None, sink, item);
            self.sinks[sink].old_news += news;
        }
    }

    /// Tells a sink about lost events of one of its subscriptions.
    pub(super) fn tell_gap(&mut self, links: &mut Links<B>, from: LinkKey, at: ReceivingKey, gap: Gap) {
        let receiving = &mut self.receivings[at];
        let (sink, source) = (receiving.sink, receiving.source);
        let Some(entry) = self.sinks.get_mut(sink) else { return };
        if entry.inbox.gap(&mut receiving.gap, source, gap) {
            self.count_news(Some(from), sink, size_of::<Item>());
        }
        self.wake(links, sink);
    }

    fn count_news(&mut self, from: Option<LinkKey>, sink: SinkKey, count: usize) {
        let (Some(link), Some(entry)) = (from, self.sinks.get_mut(sink)) else { return };
        let news = entry.news.entry(link).or_default();
        *news += count;
        if *news > NEWS
            && let Some(traffic) = self.traffic.get_mut(link)
        {
            traffic.too_much_news = true;
        }
    }

    /// Whether a sink ignores a new source of another node for now, because the items of ended links have used up their
    /// limit. Otherwise a peer that connects again and again could fill the memory. The sink hears of the source once
    /// it takes something.
    pub(super) fn puts_off(&mut self, sink: SinkKey, offer: &Offer) -> bool {
        let sink = &mut self.sinks[sink];
        let is_late = offer.origin.link().is_some() && sink.old_news > NEWS;
        if is_late && sink.put_off.is_none() {
            sink.put_off = Some(offer.source);
        }
        is_late
    }

    /// A sink has taken its items, so there is room for more. Returns the first source that it ignored until now.
    pub(crate) fn forget_news(&mut self, sink: SinkKey) -> Option<SourceRef> {
        let Sink { news, old_news, put_off, .. } = self.sinks.get_mut(sink)?;
        news.clear();
        *old_news = 0;
        put_off.take()
    }
}

/// The approximate memory of an item.
fn news_of(item: &Item) -> usize {
    let text = |error: &Error| error.expectation().len() + error.actual().len();
    let more = match item {
        Item::Refused(_, error) => text(error),
        Item::Given(_, given) => {
            size_of::<Given>() + given.values.body().len() + given.refused.as_ref().map_or(0, text)
        }
        _ => 0,
    };
    size_of::<Item>() + more
}
