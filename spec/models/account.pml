/* The account of one subscription (../channel.md: "Subscriptions", "The account", "Cuts").
 *
 * What is checked, what is left out and how to run it: README.md.
 *
 * A source and its one sink, at two honest nodes whose link breaks, is resumed, and is given up by either, in every
 * order. That connections lead to the true peer is what link.pml shows, and is taken for granted here. What the two ends
 * say goes over one connection in order; when it breaks, what is on its way is lost. The sink's policy is drop oldest,
 * with a queue of one event, or latest only.
 *
 * An event is its sequence number. On the wire it has none: here it has, so that the sink's count can be compared.
 */

#ifndef EVENTS
#define EVENTS 4                /* how many the source submits */
#endif
#ifndef BREAKS
#define BREAKS 3
#endif
#ifndef WINDOW
#define WINDOW 2
#endif

mtype = { SUBSCRIBE, STARTED, EVENT, GAP, SUPERSEDED, END, ACK, UNSUBSCRIBE, SYNCED };
mtype:stage = { OUT, ASKED, RUNNING, LEAVING, LEFT };

chan to_sink = [8] of { mtype, byte, byte };                    /* kind, sequence or first, count */
chan to_source = [8] of { mtype, bool, byte, byte, byte, byte };        /* kind, resumed, expected, received, taken, replaced */

bool is_up;                     /* whether there is a connection */
byte breaks;

/* The source's end. */
bool sees_link;                 /* whether it takes the connection for standing */
bool has_account;               /* whether it knows of a subscription */
bool is_live;                   /* whether that is subscribed to in this epoch */
byte next;                      /* the sequence of its next event */
byte first;                     /* where the subscription began */
byte position;                  /* what the sink expects after everything that was sent */
byte sent, taken;
bool has_queued;
byte queued;                    /* the event that waits */
byte cut, overrun;              /* lost */
byte superseded;
byte gap;                       /* how many lost events there are behind `position` of which the sink is to be told */
byte newer;                     /* and how many superseded ones behind these */
byte told_superseded;           /* of how many it was told */

/* The sink's end. */
mtype:stage stage = OUT;
byte replaced;                  /* of how many superseded events it knows */
byte expected, received, handed, told;  /* handed to its application, and the part of it that it has told of */
byte old;                       /* items of a subscription that is gone which remain to be handed over */
chan inbox = [EVENTS] of { byte };

bool latest;                    /* whether its policy is latest only */
bool leaves;                    /* whether it will leave */
bool came[EVENTS];              /* what the application has had */

inline count_came(count)
{
    count = 0;
    i = first;
    do
    :: i < next -> count = count + came[i]; i++
    :: else -> break
    od
}

hidden byte i, n;

#define in_flight (sent - taken + has_queued)

/* The source's account at any moment. */
inline check_account()
{
    assert(!has_account || next - first == taken + superseded + cut + overrun + in_flight);  /* Sum */
    count_came(n);
    assert(!has_account || taken <= n);                                             /* Acknowledged */
#ifndef RESTARTED
    assert(!has_account || n + superseded + cut + overrun <= next - first)          /* Lost */
#endif
}

/* The account is closed: what is in flight is lost as Unknown, or as Ended. */
inline close_account()
{
    has_account = false; is_live = false; has_queued = false;
    sent = 0; taken = 0; cut = 0; overrun = 0; superseded = 0; gap = 0; newer = 0; told_superseded = 0; queued = 0; position = 0
}

inline say_to_sink(kind, one, two)
{
    if
    :: is_up -> to_sink ! kind, one, two
    :: else
    fi
}

inline send(event)
{
    if
    :: gap > 0 -> say_to_sink(GAP, position, gap); position = position + gap; gap = 0
    :: else
    fi;
    if
    :: newer > 0 ->
        say_to_sink(SUPERSEDED, position, newer);
        position = position + newer; told_superseded = told_superseded + newer; newer = 0
    :: else
    fi;
    assert(position == event);
    say_to_sink(EVENT, event, 0);
    position = event + 1;
    sent++
}

#ifdef WITHOUT_WINDOW
#define has_credit true
#else
#define has_credit (sent - taken < WINDOW)
#endif
#define may_send (is_live && sees_link && has_credit)

proctype source()
{
    bool resumed;
    byte a, b, c, d;

end:
    do
    :: atomic { !has_account && next < EVENTS -> next++ }   /* nobody hears it: it has a number, and nothing else */
    :: atomic { has_account && next < EVENTS ->
        next++;
        if
        :: may_send && !has_queued -> send(next - 1)
        :: else ->
            if
            :: has_queued && latest -> superseded++; newer++
            :: has_queued && !latest -> overrun++; gap++
            :: else
            fi;
            has_queued = true;
            queued = next - 1
        fi;
        check_account() }

    :: atomic { may_send && has_queued ->
        has_queued = false;
        send(queued);
        queued = 0;
        check_account() }

    :: atomic { to_source ? SUBSCRIBE, resumed, a, b, c, d ->
        if
        :: has_account && resumed ->
            assert(a <= position && b <= sent && c <= b && taken <= c && d <= told_superseded);     /* Frame */
#ifdef UNACKNOWLEDGED_COUNTS
            taken = sent;
#else
            taken = c;
#endif
#ifndef CUT_IS_FORGOTTEN
            cut = cut + sent - b;
            sent = b;
#ifndef SUPERSEDED_STAYS
            cut = cut + told_superseded - d;
            superseded = superseded - (told_superseded - d);
#endif
            told_superseded = d;
            gap = gap + position - a;
            position = a;
#else
            sent = b;
#endif
            is_live = true;
            say_to_sink(STARTED, position, 0)
        :: has_account && !resumed ->
            /* The sink has not had Started, or knows nothing of an earlier subscription. */
#ifdef RESTARTED
            cut = cut + sent - taken;
            sent = taken;
#else
            close_account();
            has_account = true;
            first = next;
            position = next;
#endif
            is_live = true;
            say_to_sink(STARTED, position, 0)
        :: !has_account && !resumed ->
            has_account = true;
            is_live = true;
            first = next;
            position = next;
            say_to_sink(STARTED, position, 0)
        :: else -> say_to_sink(END, 0, 0)
        fi;
        check_account();
        resumed = 0; a = 0; b = 0; c = 0; d = 0 }

    :: atomic { to_source ? ACK, _, _, _, c, _ ->
        if
        :: has_account && is_live ->
            assert(taken <= c && c <= sent);                                        /* Frame */
            taken = c
        :: else
        fi;
        check_account();
        c = 0 }

    :: atomic { to_source ? UNSUBSCRIBE, _, _, _, c, _ ->
        if
        :: has_account ->
            assert(taken <= c && c <= sent);                                        /* Frame */
            count_came(n);
            assert(n == c);                                                         /* Exact */
            close_account()
        :: else
        fi;
        say_to_sink(END, 1, 0);
        c = 0 }

    :: atomic { to_source ? SYNCED, _, _, _, _, _ ->
        if
        :: has_account && !is_live -> close_account()
        :: else
        fi }

    /* It sees that the connection has broken. */
    :: atomic { sees_link && !is_up -> sees_link = false; is_live = false }

    /* It gives the link up. What is in flight is lost as Unknown. */
    :: atomic { !sees_link && has_account -> close_account() }
    od
}

inline lose_source()
{
    old = old + received - handed;
    stage = OUT;
    expected = 0; received = 0; handed = 0; told = 0; replaced = 0
}

inline subscribe()
{
    stage = ASKED;
    to_source ! SUBSCRIBE, 0, 0, 0, 0, 0
}

proctype sink()
{
    byte a, b;

end:
    do
    :: atomic { to_sink ? STARTED, a, _ ->
        if
        :: stage == ASKED -> stage = RUNNING; expected = a
        :: stage == RUNNING -> assert(a == expected)                                /* Sequence */
        :: else
        fi;
        a = 0 }

    :: atomic { to_sink ? EVENT, a, _ ->
        if
        :: stage == LEAVING || stage == LEFT
        :: else ->
            assert(stage == RUNNING && a == expected);                              /* Sequence */
            assert(received - told < WINDOW);                                       /* Window */
            expected++;
            received++;
            inbox ! a
        fi;
        a = 0 }

    :: atomic { to_sink ? GAP, a, b ->
        if
        :: stage == LEAVING || stage == LEFT
        :: else ->
            assert(stage == RUNNING && a == expected);                              /* Sequence */
            expected = expected + b
        fi;
        a = 0; b = 0 }

    :: atomic { to_sink ? SUPERSEDED, a, b ->
        if
        :: stage == LEAVING || stage == LEFT
        :: else ->
            assert(stage == RUNNING && a == expected);                              /* Sequence */
            expected = expected + b;
            replaced = replaced + b
        fi;
        a = 0; b = 0 }

    :: atomic { to_sink ? END, a, _ ->
        if
        :: a == 1 && stage == LEAVING -> stage = LEFT
        :: a == 0 && (stage == ASKED || stage == RUNNING) -> lose_source(); subscribe()
        :: else
        fi;
        a = 0 }

    /* The application takes an event. */
    :: atomic { inbox ? a ->
        assert(!came[a]);                                                           /* Once */
        came[a] = true;
        if
        :: old > 0 -> old--
        :: else -> handed++
        fi;
        a = 0 }

    :: atomic { stage == RUNNING && is_up && told < handed ->
        told = handed;
#ifdef RECEIVED_IS_TAKEN
        told = received;
#endif
        to_source ! ACK, 0, 0, 0, told, 0 }

    /* It leaves. */
    :: atomic { leaves && stage == RUNNING && is_up && old == 0 ->
        stage = LEAVING;
        do
        :: inbox ? _
        :: empty(inbox) -> break
        od;
        to_source ! UNSUBSCRIBE, 0, 0, 0, handed, 0 }

    /* It gives the link up. What came remains to be taken. */
    :: atomic { !is_up && (stage == ASKED || stage == RUNNING) -> lose_source() }
    :: atomic { !is_up && stage == LEAVING -> stage = LEFT }
    od
}

/* The connection breaks, and another one begins. */
proctype network()
{
end:
    do
    :: atomic { is_up && breaks < BREAKS ->
        breaks++;
        is_up = false;
        do
        :: to_sink ? _, _, _
        :: empty(to_sink) -> break
        od;
        do
        :: to_source ? _, _, _, _, _, _
        :: empty(to_source) -> break
        od }

    :: atomic { !is_up && !sees_link ->
        is_up = true;
        sees_link = true;
        if
        :: stage == OUT -> subscribe()
        :: stage == ASKED -> to_source ! SUBSCRIBE, 0, 0, 0, 0, 0
        :: stage == RUNNING ->
#ifdef TOLD_IS_TAKEN
            to_source ! SUBSCRIBE, 1, expected, received, told, replaced;
#else
            to_source ! SUBSCRIBE, 1, expected, received, handed, replaced;
#endif
            told = handed
        :: stage == LEAVING -> to_source ! UNSUBSCRIBE, 0, 0, 0, handed, 0
        :: else
        fi;
        to_source ! SYNCED, 0, 0, 0, 0, 0 }
    od
}

/* Nothing more can happen: all is submitted, and no connection breaks any more. */
proctype rest()
{
    atomic {
        timeout ->
        assert(is_up && (stage == RUNNING || stage == LEFT) && (stage == RUNNING) == has_account);
        count_came(n);
        assert(!has_account || next == EVENTS && in_flight == 0 && n == taken);     /* Settled */
        assert(!has_account || replaced == superseded)                              /* Told */
    }
}

init
{
    atomic {
        if
        :: leaves = true
        :: leaves = false
        fi;
        if
        :: latest = true
        :: latest = false
        fi;
        run source(); run sink(); run network(); run rest()
    }
}
