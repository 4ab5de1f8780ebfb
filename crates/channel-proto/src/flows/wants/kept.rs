//! Queries for kept events: each new subscription has a state of its own for these (`spec/channel.md`, "Queries").

use super::{Want, WantKey, Wants};

impl WantKey {
    /// The only query of those that [`anew`](Wants::anew) makes.
    pub(in crate::flows) const ANEW: WantKey = WantKey(0);
}

impl<B> Wants<B> {
    /// The query with its state at the beginning, for events that were kept before a subscription.
    pub(in crate::flows) fn anew(&mut self, key: WantKey) -> Wants<B> {
        let mut anew = Wants { is_past: true, places: self.places.anew(), ..Wants::default() };
        if let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) {
            want.beginning += 1;
            let new = Want::new(want.text.clone(), want.query.clone());
            anew.places.join(want.demand);
            anew.all.push(Some(Want { demand: want.demand, has_fitted: want.has_fitted, sinks: 1, ..new }));
        }
        anew
    }

    /// Lets what [`anew`](Wants::anew) made of a query look at some of the events. The account of the query pays for them.
    pub(in crate::flows) fn lend(&mut self, key: WantKey, anew: &mut Wants<B>) {
        anew.purse = self.purse.take();
        let want = self.all.get(key.0).and_then(Option::as_ref);
        if let Some((want, new)) = want.zip(anew.all.first_mut().and_then(Option::as_mut)) {
            (new.principal, new.account) = (want.principal, want.account);
        }
    }

    /// It has looked at them.
    pub(in crate::flows) fn take_back(&mut self, anew: &mut Wants<B>) {
        self.purse = anew.purse.take();
    }

    /// It has looked at all of them. The subscription shares the state of the others with this query from now on.
    pub(in crate::flows) fn was_anew(&mut self, key: WantKey, anew: Wants<B>) {
        let new = anew.all.into_iter().flatten().next();
        if let Some((want, new)) = self.all.get_mut(key.0).and_then(Option::as_mut).zip(new) {
            want.beginning -= 1;
            want.thinned += new.thinned;
            want.has_fitted |= new.has_fitted;
            // Looking at its states was paid for when the subscription came.
            want.joined();
        }
    }

    /// The query of a subscription that is still at its kept events has become another one, for what follows.
    pub(in crate::flows) fn becomes(&mut self, before: WantKey, after: WantKey) {
        for (key, more) in [(before, false), (after, true)] {
            if let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) {
                want.beginning = if more { want.beginning + 1 } else { want.beginning - 1 };
            }
        }
    }

    /// What the evaluation of events has taken since the last call, in nanoseconds.
    pub(in crate::flows) fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }
}
