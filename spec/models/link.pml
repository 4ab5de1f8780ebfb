/* Links between two nodes, with a liar beside them (../channel.md: "Identity", "Handshake", "Cuts").
 *
 * What is checked, what is left out and how to run it: README.md.
 *
 * Two honest nodes, LOW and HIGH, dial each other, lose connections, give links up, and say Bye, in every order. The
 * liar connects to both, is dialed by both, says anything at any time, claims any id, and repeats each Hello and Proof
 * that it has heard. It cannot sign with a key of another, and cannot touch a connection between LOW and HIGH.
 *
 * A connection has two ends: the dialer's is even, the acceptor's odd. The number of an end is also its nonce, since an
 * end is used once. A Proof is the number of the end that signed it: what was signed follows from the Hellos of that
 * end. So the signature at one end holds at another exactly if both have the same two Hellos.
 */

#ifndef PEER_CONNECTIONS
#define PEER_CONNECTIONS 2      /* between LOW and HIGH */
#endif
#ifndef LIAR_CONNECTIONS
#define LIAR_CONNECTIONS 2      /* of the liar */
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 1              /* how often a link is given up or left with a Bye */
#endif
#ifndef BREAKS
#define BREAKS 2                /* how often the network breaks a connection, for the property Together */
#endif
#define CONNECTIONS (PEER_CONNECTIONS + LIAR_CONNECTIONS)
#define ENDS (2 * CONNECTIONS)

#define LOW 0
#define HIGH 1
#define LIAR 2
#define NOBODY 3

#define NONE 255                /* no end */
#define BY_LIAR 254             /* a Proof with the liar's own key */

/* What an end waits for. */
#define UNUSED 0
#define WAITS_HELLO 1
#define WAITS_PROOF 2
#define WAITS_TERMS 3
#define WAITS_START 4
#define STANDS 5                /* the connection is its link's */
#define CLOSED 6

#define DUPLICATE 1             /* the code of a Bye */
#define OTHER 0

mtype = { HELLO, PROOF, TERMS, START, BYE };

chan wire[ENDS] = [4] of { mtype, byte, byte };     /* what is on its way to an end */

byte owner[ENDS];               /* the node at an end */
byte state[ENDS];
byte heard_key[ENDS];           /* the Hello that came: whose key, and which nonce */
byte heard_nonce[ENDS];
bool has_said_hello[ENDS];      /* to the liar */
bool has_signed[ENDS];
bool is_down[CONNECTIONS];      /* broken or closed at one end; the other end has yet to see it */

/* The link of each node with the other one. */
byte link_end[2];               /* the end on which it stands, or NONE */
byte epoch[2];                  /* its last epoch; 0 if there is no link */

byte begun;                     /* how many epochs LOW has begun */

byte give_ups;
byte peers_used;                /* connections between LOW and HIGH so far */
byte liars_used;

#define connection(e) ((e) / 2)
#define other_end(e) ((e) ^ 1)
#define is_dialer(e) (((e) & 1) == 0)
#define is_of_liar(e) (connection(e) >= PEER_CONNECTIONS)

/* Whether a Proof signed at end `by` is about the same two Hellos as end `at` has, from the other side. */
#ifdef WITHOUT_PROOF
#define holds(at, by) true
#else
#ifdef WITHOUT_NONCES
#define are_same_hellos(at, by) (heard_key[at] == owner[by] && heard_key[by] == owner[at])
#else
#define are_same_hellos(at, by) (heard_key[at] == owner[by] && heard_nonce[at] == (by) && \
                                 heard_key[by] == owner[at] && heard_nonce[by] == (at))
#endif
#ifdef BOUND                    /* TLS binds the signature to the connection */
#define is_same_binding(at, by) (connection(at) == connection(by))
#else
#define is_same_binding(at, by) true
#endif
#define holds(at, by) ((by) == BY_LIAR -> heard_key[at] == LIAR : \
                       (((at) ^ (by)) & 1) && are_same_hellos(at, by) && is_same_binding(at, by))
#endif

/* Whether the node at the other end of the connection is the one that this end believes. */
#define is_true_peer(e) (!is_of_liar(e))

hidden byte old;                /* the end that another one replaces */
hidden byte new_epoch;

inline close(closing)
{
    state[closing] = CLOSED;
    is_down[connection(closing)] = true;
    if
    :: link_end[owner[closing]] == closing -> link_end[owner[closing]] = NONE
    :: else
    fi;
    /* What is on its way to it is lost. */
    do
    :: wire[closing] ? _, _, _
    :: empty(wire[closing]) -> break
    od;
    if
    :: is_of_liar(closing)
    :: else -> heard_key[closing] = 0; heard_nonce[closing] = 0
    fi
}

/* What is said to the liar needs no wire: it knows the state of the end. What is said on a broken connection is lost. */
inline say(from, frame, first, second)
{
    if
    :: is_of_liar(from) || is_down[connection(from)]
    :: else -> wire[other_end(from)] ! frame, first, second
    fi
}

inline say_hello(at)
{
    has_said_hello[at] = is_of_liar(at);
    say(at, HELLO, owner[at], at)
}

inline say_proof(at)
{
    has_signed[at] = is_of_liar(at);
    say(at, PROOF, at, 0)
}

/* The last epoch that a node has seen end. */
inline say_terms(at)
{
    if
    :: link_end[owner[at]] == NONE -> say(at, TERMS, epoch[owner[at]], 0)
    :: else -> say(at, TERMS, 0, 0)
    fi
}

/* The connection becomes the link's. */
inline begin(at, number)
{
    assert(is_true_peer(at));                                             /* Peer */
    old = link_end[owner[at]];
    if
    :: old != NONE ->
        assert(state[other_end(old)] != STANDS);                          /* Replaced */
        close(old)
    :: else
    fi;
    link_end[owner[at]] = at;
    epoch[owner[at]] = number;
    state[at] = STANDS;
    assert(link_end[1 - owner[at]] == NONE || epoch[LOW] != epoch[HIGH] ||
           link_end[1 - owner[at]] == other_end(at))                     /* Epoch */
}

#ifdef WITHOUT_DUPLICATE
#define is_duplicate(ended) false
#else
#define is_duplicate(ended) (link_end[LOW] != NONE && epoch[LOW] > ended)
#endif

/* LOW has the Terms of HIGH. */
inline decide(it, ended)
{
    if
    :: is_duplicate(ended) ->
        say(it, BYE, DUPLICATE, 0);
        close(it)
    :: else ->
        new_epoch = (epoch[LOW] > begun -> epoch[LOW] : begun) + 1;
#ifndef WITHOUT_ENDED
        new_epoch = (ended >= new_epoch -> ended + 1 : new_epoch);
#endif
#ifndef WITHOUT_COUNT
        begun++;
#endif
        begin(it, new_epoch);
        say(it, START, epoch[LOW], 0)
    fi
}

#ifdef WITHOUT_EPOCHS
#define is_stale(number) false
#else
#define is_stale(number) (number <= epoch[HIGH])
#endif

/* HIGH has a Start. Only the lower node of a link sends one: HIGH has heard the key of LOW. */
inline started(it, said)
{
    if
    :: is_stale(said) -> say(it, BYE, OTHER, 0); close(it)
    :: else -> begin(it, said)
    fi
}

/* A node gets a frame. */
inline take(e, kind, a, b)
{
    if
    :: state[e] == WAITS_HELLO && kind == HELLO ->
        heard_key[e] = a;
        heard_nonce[e] = b;
#ifdef CLAIM_REPLACES
        if
        :: !is_dialer(e) && a == 1 - owner[e] && link_end[owner[e]] != NONE ->
            old = link_end[owner[e]];
            close(old)
        :: else
        fi;
#endif
        if
        :: a == owner[e] || (is_dialer(e) && a == LIAR) -> say(e, BYE, OTHER, 0); close(e)   /* WrongNode */
        :: else ->
            state[e] = WAITS_PROOF;
            if
            :: is_dialer(e)
            :: else -> say_hello(e); say_proof(e)
            fi
        fi
    :: state[e] == WAITS_PROOF && kind == PROOF ->
        if
        :: holds(e, a) ->
            if
            :: is_dialer(e) -> say_proof(e)
            :: else
            fi;
            if
            :: heard_key[e] == LIAR -> close(e)      /* A link with the liar is a matter of its own. */
            :: else -> say_terms(e); state[e] = WAITS_TERMS
            fi
        :: else -> say(e, BYE, OTHER, 0); close(e)
        fi
    :: state[e] == WAITS_TERMS && kind == TERMS ->
        if
        :: owner[e] == LOW -> decide(e, a)
        :: else -> state[e] = WAITS_START
        fi
    :: state[e] == WAITS_START && kind == START -> started(e, a)
    :: kind == BYE ->
#ifdef CLAIM_ENDS
        if
        :: link_end[owner[e]] != NONE && heard_key[e] == 1 - owner[e] ->
            old = link_end[owner[e]];
            close(old)
        :: else
        fi;
#endif
#ifdef WITHOUT_REDIAL
        is_discouraged = is_discouraged || a == DUPLICATE;
#endif
        if
        :: state[e] == STANDS -> epoch[owner[e]] = 0
        :: else
        fi;
        close(e)
    :: state[e] == STANDS && kind != BYE -> skip     /* events and so on: see account.pml */
    :: else -> say(e, BYE, OTHER, 0); close(e)       /* a frame out of turn [Handshake] */
    fi
}

inline dial(new, from, to)
{
    owner[new] = from;
    owner[other_end(new)] = to;
    if
    :: from != LIAR -> state[new] = WAITS_HELLO; say_hello(new)
    :: else
    fi;
    if
    :: to != LIAR -> state[other_end(new)] = WAITS_HELLO
    :: else
    fi
}

/* Whether a node's own attempt to reach the other is under way. */
#define dials(n) (is_dialing(n, 0) || is_dialing(n, 2) || is_dialing(n, 4))
#define is_dialing(n, e) ((e) < 2 * PEER_CONNECTIONS && owner[e] == (n) && state[e] != STANDS && state[e] != CLOSED)

#ifdef LIVE
/* Connections are used again, since there is no liar to repeat what was said on them; and a limited number breaks. */
#define is_free(e) (((e) < 2 * PEER_CONNECTIONS) && \
                    (state[e] == UNUSED || state[e] == CLOSED) && (state[(e) + 1] == UNUSED || state[(e) + 1] == CLOSED))
#define may_break (breaks < BREAKS)
#ifdef ONE_WAY                  /* only HIGH can be the dialer: LOW has no address of it */
#define may_dial(n) ((n) == HIGH && !is_discouraged && (is_free(0) || is_free(2) || is_free(4)))
#else
#define may_dial(n) (is_free(0) || is_free(2) || is_free(4))
#endif

byte breaks;
bool is_discouraged;

inline take_connection(taken)
{
    taken = (is_free(0) -> 0 : (is_free(2) -> 2 : 4));
    is_down[connection(taken)] = false
}

ltl together { <>[](link_end[LOW] != NONE && link_end[HIGH] == other_end(link_end[LOW])) }
#else
#define may_break true
#define may_dial(n) (peers_used < PEER_CONNECTIONS)

inline take_connection(taken)
{
    taken = 2 * peers_used;
    peers_used++
}
#endif

/* A node, besides what it answers. */
proctype node(byte me)
{
    byte e;

end:
    do
    /* It dials the other node, as long as there is no link with it. The other may do the same. */
    :: atomic { may_dial(me) && link_end[me] == NONE && !dials(me) ->
        take_connection(e);
        dial(e, me, 1 - me);
        e = 0 }

    /* It dials an address that the liar has claimed to be the other's. */
    :: atomic { liars_used < LIAR_CONNECTIONS && link_end[me] == NONE ->
        e = 2 * (PEER_CONNECTIONS + liars_used);
        liars_used++;
        dial(e, me, LIAR);
        e = 0 }

    /* It leaves the link in order, or gives it up after a cut. */
    :: atomic { give_ups < GIVE_UPS && epoch[me] > 0 ->
        give_ups++;
        if
        :: link_end[me] != NONE ->
            e = link_end[me];
            say(e, BYE, OTHER, 0);
            close(e)
        :: else
        fi;
        epoch[me] = 0;
        e = 0 }
    od
}

/* What comes at an end of a connection between LOW and HIGH. */
proctype peer_end(byte e)
{
    byte a, b;
    mtype kind;

end:
    do
    :: atomic { wire[e] ? kind, a, b ->
        take(e, kind, a, b);
        a = 0; b = 0; kind = 0 }

    /* It sees that the connection has broken. */
    :: atomic { is_down[connection(e)] && state[e] != CLOSED && state[e] != UNUSED ->
        close(e) }

    /* The network breaks it. */
    :: atomic { may_break && is_dialer(e) && state[e] != UNUSED && !is_down[connection(e)] ->
#ifdef LIVE
        breaks++;
#endif
        is_down[connection(e)] = true }
    od
}

/* A Hello or a Proof that the liar has heard at an end, and says again. */
#ifdef RELAYS                   /* while that end is open: the liar has got between the two nodes */
#define has_heard_hello(n) (has_said_hello[n])
#else
#define has_heard_hello(n) (has_said_hello[n] && state[n] == CLOSED)
#endif

inline pick_liars(n)
{
    n = 2 * PEER_CONNECTIONS;
    do
    :: n < ENDS - 1 -> n++
    :: break
    od
}

/* The liar, on one of its connections, whose other end is `e`. */
proctype liar_end(byte dialer)
{
    byte e, n, a, b, low, high;
    mtype kind;

end:
    do
    /* It connects. */
    :: atomic { liars_used < LIAR_CONNECTIONS && dialer == 2 * (PEER_CONNECTIONS + liars_used) ->
        liars_used++;
        if
        :: dial(dialer, LIAR, LOW)
        :: dial(dialer, LIAR, HIGH)
        fi }

    /* It says something. */
    :: atomic { owner[dialer] != NOBODY && state[(owner[dialer] == LIAR -> other_end(dialer) : dialer)] != CLOSED ->
        low = link_end[LOW];
        high = link_end[HIGH];
        e = (owner[dialer] == LIAR -> other_end(dialer) : dialer);
        pick_liars(n);
        if
        :: kind = HELLO; a = LIAR; b = other_end(e)
        :: kind = HELLO; a = LOW; b = other_end(e)
        :: kind = HELLO; a = HIGH; b = other_end(e)
        :: owner[n] != LIAR && has_heard_hello(n) -> kind = HELLO; a = owner[n]; b = n
        :: kind = PROOF; a = BY_LIAR
        :: has_signed[n] -> kind = PROOF; a = n
        :: kind = TERMS
        :: kind = TERMS; a = 9
        :: kind = START; a = 1
        :: kind = START; a = 9
        :: kind = BYE; a = DUPLICATE
        fi;
        take(e, kind, a, b);
        assert(link_end[LOW] == low && link_end[HIGH] == high);          /* Untouched */
        e = 0; n = 0; a = 0; b = 0; kind = 0; low = 0; high = 0 }
    od
}

init
{
    byte i;

    atomic {
        link_end[LOW] = NONE;
        link_end[HIGH] = NONE;
        do
        :: i < ENDS ->
            owner[i] = NOBODY;
            if
            :: i < 2 * PEER_CONNECTIONS -> run peer_end(i)
            :: i >= 2 * PEER_CONNECTIONS && is_dialer(i) -> run liar_end(i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        run node(LOW);
        run node(HIGH)
    }
}
