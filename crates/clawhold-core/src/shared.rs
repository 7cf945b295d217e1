//! Values and lists that copies of the state share until one of them changes.
//!
//! A copy of the whole state is taken between two entries and read elsewhere at leisure, for a
//! snapshot, a hash or an audit. So whatever can be there in large numbers is kept behind a count
//! of references, in pieces: the copy costs one count a piece, and the state that goes on copies
//! only what it then changes.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

/// Things in one piece of a [`Shelf`].
const PIECE: usize = 256;

/// A value that copies share until one of them changes it.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Returns another reference to the value as it is now.
    pub(crate) fn share(&self) -> Arc<T> {
        Arc::clone(&self.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<C, T: Encode<C>> Encode<C> for Shared<T> {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        self.0.encode(e, context)
    }
}

impl<'b, C, T: Decode<'b, C>> Decode<'b, C> for Shared<T> {
    fn decode(d: &mut Decoder<'b>, context: &mut C) -> Result<Self, DecodeError> {
        T::decode(d, context).map(Self::new)
    }
}

/// A list that grows at its end and shrinks at its front, in pieces that copies share.
#[derive(Clone, Debug)]
pub(crate) struct Shelf<T> {
    /// Each but the last holds `PIECE` places. What is gone from the front is `None`.
    pieces: VecDeque<Shared<Vec<Option<Shared<T>>>>>,
    /// Places at the front that are empty.
    gone: usize,
    len: usize,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), gone: 0, len: 0 }
    }
}

impl<T> Shelf<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn front(&self) -> Option<&T> {
        self.after(0).next()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.after(0)
    }

    /// Returns what is left after the first `skip` things.
    pub(crate) fn after(&self, skip: usize) -> impl Iterator<Item = &T> {
        let place = self.gone.saturating_add(skip.min(self.len));
        let pieces = self.pieces.iter().skip(place / PIECE);
        pieces.flat_map(|piece| piece.iter()).skip(place % PIECE).filter_map(|kept| kept.as_deref())
    }

    pub(crate) fn push_back(&mut self, value: T) {
        if self.pieces.back().is_none_or(|piece| piece.len() == PIECE) {
            self.pieces.push_back(Shared::new(Vec::new()));
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.push(Some(Shared::new(value)));
            self.len += 1;
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<Shared<T>> {
        let gone = self.gone;
        let value = self.pieces.front_mut()?.get_mut(gone)?.take()?;
        self.gone += 1;
        self.len -= 1;
        if self.gone == PIECE {
            self.pieces.pop_front();
            self.gone = 0;
        }
        Some(value)
    }
}

impl<T: PartialEq> PartialEq for Shelf<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Shelf<T> {}

impl<T> FromIterator<T> for Shelf<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut shelf = Self::default();
        values.into_iter().for_each(|value| shelf.push_back(value));
        shelf
    }
}

impl<C, T: Encode<C>> Encode<C> for Shelf<T> {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.array(self.len as u64)?;
        self.iter().try_for_each(|value| value.encode(e, context))
    }
}

impl<'b, C, T: Decode<'b, C>> Decode<'b, C> for Shelf<T> {
    fn decode(d: &mut Decoder<'b>, context: &mut C) -> Result<Self, DecodeError> {
        d.array_iter_with(context)?.collect()
    }
}

/// Text that copies share, as CBOR text.
pub(crate) mod text {
    use super::{Arc, DecodeError, Decoder, EncodeError, Encoder, Write};

    pub(crate) fn encode<C, W: Write>(
        text: &Arc<str>,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.str(text)?.ok()
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Arc<str>, DecodeError> {
        d.str().map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_is_a_list_whatever_goes_in_and_out() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut shelf, mut model) = (Shelf::default(), VecDeque::new());
        let mut copies: Vec<(Shelf<u32>, VecDeque<u32>)> = Vec::new();
        for n in 0..20_000_u32 {
            if rng.u8(..) < 140 {
                shelf.push_back(n);
                model.push_back(n);
            } else {
                assert_eq!(shelf.pop_front().map(|value| *value), model.pop_front());
            }
            assert_eq!((shelf.len(), shelf.front()), (model.len(), model.front()));
            if n % 997 == 0 {
                copies.push((shelf.clone(), model.clone()));
                let skip = rng.usize(..=model.len() + 1);
                assert!(shelf.after(skip).eq(model.iter().skip(skip)));
            }
        }
        for (shelf, model) in copies {
            assert!(shelf.iter().eq(model.iter()));
            let bytes = minicbor::to_vec(&shelf).unwrap();
            assert_eq!(bytes, minicbor::to_vec(&model).unwrap());
            assert_eq!(minicbor::decode::<Shelf<u32>>(&bytes).unwrap(), shelf);
        }
    }

    #[test]
    fn a_copy_stays_as_it_was() {
        let mut value = Shared::new(1);
        let copy = value.clone();
        *value = 2;
        assert_eq!((*copy, *value), (1, 2));
    }
}
