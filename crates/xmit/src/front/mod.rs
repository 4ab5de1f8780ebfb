//! The languages of documents, one room each. Each makes [`Declarations`](crate::Declarations).

pub(crate) mod xsd;
