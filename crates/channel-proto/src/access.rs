//! Who may have a link with a node (`spec/channel.md`, "Identity").

use crate::credentials::Credentials;
use crate::shared::SharedKey;
use isoform_core::{Code, Error, Result};

/// The shared keys that a node knows, and whom it admits.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The shared keys that it knows. It offers the first four to the nodes that it dials.
    pub keys: Vec<SharedKey>,
    /// Whom it admits.
    pub admission: Admission,
}

/// Whom a node admits: as a node that dials it, and as a node that it dials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// Everyone who can connect. This is the default of this crate, but not of `isoform-channel`.
    #[default]
    Anyone,
    /// A node that proves a shared key that this node knows, or has a certificate that the transport has checked, or runs
    /// for one of these users of this machine.
    Known {
        /// The numbers of the users.
        users: Vec<u32>,
    },
}

impl Admission {
    fn admits(&self, credentials: &Credentials) -> bool {
        match self {
            Admission::Anyone => true,
            Admission::Known { users } => {
                credentials.key.is_some()
                    || credentials.certificate.is_some()
                    || credentials.local_user.is_some_and(|user| users.contains(&user))
            }
        }
    }

    /// Fails if the other side is not admitted.
    pub(crate) fn expect(&self, credentials: &Credentials) -> Result<()> {
        if self.admits(credentials) {
            return Ok(());
        }
        Err(match credentials.local_user {
            Some(user) => not_admitted().found(format_args!("a program of user {user} that has none of them")),
            None => not_admitted().found("a program that has none of them"),
        })
    }
}

/// The error for a node that is not admitted. It tells what to do.
pub(crate) fn not_admitted() -> Error {
    Error::new(Code::NotAdmitted)
        .expected("a shared key that both nodes know: that of the same user, ISOFORM_KEY, or ?key= in the channel's id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::KeyName;

    #[test]
    fn a_key_a_certificate_or_a_user_is_admitted() {
        let none = Credentials::default();
        let key = Credentials { key: Some(KeyName([1; 8])), ..none.clone() };
        let certificate = Credentials { certificate: Some(vec!["a.example".into()]), ..none.clone() };
        let user = |user| Credentials { local_user: Some(user), ..none.clone() };
        let known = Admission::Known { users: vec![1000] };
        for admitted in [&key, &certificate, &user(1000)] {
            known.expect(admitted).unwrap();
        }
        for stranger in [&none, &user(1001)] {
            assert_eq!(known.expect(stranger).unwrap_err().code(), Code::NotAdmitted);
            Admission::Anyone.expect(stranger).unwrap();
        }
    }
}
