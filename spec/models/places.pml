/* The places for links that credentials share (../channel.md: "Limits").
 *
 * What is checked, what is left out and how to run it: README.md.
 *
 * Ids of each credential come and go in every order. A node that comes is let in, takes the place of a node with another
 * credential, or is refused. Which id of a credential gives its place makes no difference here.
 */

#define PLACES 5                /* no more than there are others: each of them may hold one */
#define RESERVE 1
#define ALL 6                   /* the own user, and five others */
#define OWN 0

byte held[ALL];                 /* how many places each credential has */

byte i, who, all, others, most;
bool refused, others_have_more, own_has_its_reserve, others_have_theirs, there_is_room;

#ifdef WITHOUT_RESERVE
#define MAY_OTHERS (others < PLACES)
#else
#define MAY_OTHERS (others < PLACES - RESERVE)
#endif

#ifdef TAKES_ALL
#define MAY_OWN (held[OWN] < PLACES)
#else
#define MAY_OWN (held[OWN] < PLACES - RESERVE)
#endif

inline count()
{
    all = held[OWN]; others = 0; most = 1;
    i = 1;
    do
    :: i < ALL ->
        all = all + held[i];
        others = others + held[i];
        if
        :: held[i] > held[most] -> most = i
        :: else
        fi;
        i++
    :: else -> break
    od
}

inline come()
{
    count();
    refused = false;
    if
    :: all < PLACES && ((who == OWN && MAY_OWN) || (who != OWN && MAY_OTHERS)) -> held[who]++
#ifndef WITHOUT_GIVING
    :: !(all < PLACES && ((who == OWN && MAY_OWN) || (who != OWN && MAY_OTHERS))) &&
        held[most] > held[who] + 1 && (who != OWN || MAY_OWN) -> held[most]--; held[who]++
#endif
    :: else -> refused = true
    fi
}

inline check()
{
    count();
    others_have_more = held[most] > held[who] + 1;
    own_has_its_reserve = !(refused && who == OWN && held[OWN] < RESERVE);
    others_have_theirs = held[OWN] <= PLACES - RESERVE;
    there_is_room = all <= PLACES;
    assert(own_has_its_reserve);                                    /* Reserve */
    assert(others_have_theirs);                                     /* Rest */
    assert(!(refused && who != OWN && others_have_more));           /* Fair */
    assert(there_is_room)
}

active proctype node()
{
    do
    :: atomic {
        select(who: 0 .. ALL - 1);
        if
        :: held[who] > 0 -> held[who]--
        :: come(); check()
        fi;
        /* These are no part of the state. */
        who = 0; i = 0; all = 0; others = 0; most = 0; refused = false
    }
    od
}
