//! Links that end: what is to be done for each subscription takes long, so others have their turns meanwhile.

use super::host::{Host, Machine};
use isoform_channel_proto::{Access, Admission, Policy, Settings, SharedKey, Time, Wanted};
use isoform_core::{FieldList, Machine as Machine64};

#[test]
fn links_that_end_at_the_same_time_do_so_a_few_at_a_time() {
    const GUESTS: usize = 40;
    let access = Access { keys: vec![SharedKey::new([1; 32])], admission: Admission::Known { users: Vec::new() } };
    let settings = || Settings { access: access.clone(), ..Settings::default() };
    let mut host = Host::new(settings());
    let format = FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine64::NATIVE, 8, 8).unwrap();
    let source = host.node.add_source(host.channel, Some(&format)).unwrap();
    for _ in 0..GUESTS {
        let mut guest = host.guest(settings());
        guest.node.add_sink(guest.channel, Wanted::any(Policy::Latest)).unwrap();
        host.talk(&mut guest).unwrap();
        host.node.closed(host.now, guest.id, None);
    }
    let present = |node: &Machine| node.ledger(source).into_iter().filter(|account| account.present).count();
    let mut counts = vec![present(&host.node)];
    let end = host.now + Settings::default().linger + Time::from_secs(1);
    while let Some(due) = host.node.deadline().filter(|due| *due < end) {
        host.node.tick(due);
        assert!(host.node.deadline().is_none_or(|next| next > due), "nothing more is due then");
        counts.push(present(&host.node));
        while host.node.action().is_some() {}
    }
    assert_eq!((counts[0], counts.last()), (GUESTS, Some(&0)));
    assert!(counts.windows(2).all(|pair| pair[0] - pair[1] <= 4), "{counts:?}");
}
