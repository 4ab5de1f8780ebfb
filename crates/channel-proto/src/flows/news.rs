//! The other events of a sink: sources that join and leave, and lost events. No window limits these, so they count
//! against the link over which they arrived.

use super::inbox::Item;
use super::{Flows, Sink};
use crate::account::Gap;
use crate::keys::{LinkKey, ReceivingKey, SinkKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::offer::Offer;

/// How much one link may tell a sink that takes nothing, besides events, in bytes of memory; and how much all links may
/// have told it that have ended.
const NEWS: usize = 4 << 20;

impl<B: Body, S: Storage> Flows<B, S> {
    /// Tells a sink something that is no event.
    pub(super) fn tell(&mut self, links: &mut Links<B>, from: Option<LinkKey>, sink: SinkKey, item: Item) {
        let Some(entry) = self.sinks.get_mut(sink) else { return };
        let news = news_of(&item);
        entry.inbox.tell(item);
        self.count_news(from, sink, news);
        self.wake(links, sink);
    }

    /// Tells a sink that events of one of its subscriptions will not come.
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

    /// Whether a sink that takes nothing was told so much by links that have ended that it hears of no further sources of
    /// other nodes: each of those may be the work of one who comes again and again. It does once it takes something.
    pub(super) fn puts_off(&mut self, sink: SinkKey, offer: &Offer) -> bool {
        let sink = &mut self.sinks[sink];
        let is_late = offer.origin.link().is_some() && sink.old_news > NEWS;
        if is_late && sink.put_off.is_none() {
            sink.put_off = Some(offer.source);
        }
        is_late
    }

    /// A sink has taken what it was told, and there is room for more. Returns the first source of another node that was put
    /// off until now.
    pub(crate) fn forget_news(&mut self, sink: SinkKey) -> Option<SourceRef> {
        let Sink { news, old_news, put_off, .. } = self.sinks.get_mut(sink)?;
        news.clear();
        *old_news = 0;
        put_off.take()
    }
}

/// About what it takes to keep an item.
fn news_of(item: &Item) -> usize {
    let text = if let Item::Refused(_, error) = item { error.expectation().len() + error.actual().len() } else { 0 };
    size_of::<Item>() + text
}
