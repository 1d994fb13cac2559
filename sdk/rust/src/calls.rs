//! Puts tool calls together from the fragments of a stream in the chat-completions family.
//!
//! Servers differ in what they leave out, repeat or get wrong, and the fixes conflict if taken alone. The order here satisfies all
//! of them:
//!
//! 1. An empty string is an absent one.
//! 2. A fragment without a name never starts a call. It belongs to the call whose id it repeats, else to the one at its index, else to
//!    the last; an id that nobody knows is ignored (some servers make up one for each fragment).
//! 3. A name with a known id, or the same name again at the same place while the arguments are not complete JSON: the same call. The name
//!    is set, not appended.
//! 4. Any other name starts a call, whatever the index says (some servers say 0 for all).

/// A fragment, as the wire gave it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fragment<'a> {
    pub index: Option<u64>,
    pub id: &'a str,
    pub name: &'a str,
    /// A piece of the arguments' JSON text.
    pub arguments: &'a str,
}

/// A call so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// Provider data to be sent back unchanged.
    pub opaque: Option<String>,
    index: Option<u64>,
    nesting: Nesting,
}

impl Call {
    fn new(fragment: &Fragment<'_>, id: String) -> Self {
        Self {
            id,
            name: fragment.name.into(),
            arguments: String::new(),
            opaque: None,
            index: fragment.index,
            nesting: Nesting::default(),
        }
    }

    fn append(&mut self, arguments: &str) {
        self.nesting.read(arguments.as_bytes());
        self.arguments.push_str(arguments);
    }
}

/// What a fragment did, with the place of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    Started(usize),
    Continued(usize),
    /// It belongs to no call, or says again what is known.
    Ignored,
}

/// More calls, or longer arguments, than any answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

/// The calls of one answer.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
    bytes: usize,
}

impl Calls {
    /// Calls of one answer.
    pub const MOST: usize = 256;
    /// Bytes of all arguments of one answer.
    pub const MOST_BYTES: usize = 16 << 20;

    /// Puts a fragment where it belongs. `make_id` is asked for a call that comes without a usable one.
    ///
    /// # Errors
    /// [`TooMuch`] beyond [`Self::MOST`] calls or [`Self::MOST_BYTES`].
    pub fn add(&mut self, fragment: &Fragment<'_>, make_id: impl FnOnce() -> String) -> Result<Placed, TooMuch> {
        self.bytes += fragment.arguments.len();
        let placed = self.place(fragment);
        if self.bytes > Self::MOST_BYTES || (placed == Placed::Started(Self::MOST)) {
            return Err(TooMuch);
        }
        match placed {
            Placed::Started(_) => self.start(fragment, make_id),
            Placed::Continued(at) => self.carry_on(at, fragment),
            Placed::Ignored => {}
        }
        Ok(placed)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    #[must_use]
    pub fn get(&self, at: usize) -> &Call {
        &self.calls[at]
    }

    /// Keeps provider data for a call.
    pub fn set_opaque(&mut self, at: usize, opaque: &str) {
        self.calls[at].opaque = Some(opaque.into());
    }

    /// Gives the calls away, in the order in which they began.
    pub fn take(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    fn place(&self, fragment: &Fragment<'_>) -> Placed {
        let start = Placed::Started(self.calls.len());
        let known = self.by_id(fragment.id);
        if fragment.name.is_empty() {
            let at = known.or_else(|| self.by_index(fragment.index)).or_else(|| self.last());
            return at.map_or(Placed::Ignored, Placed::Continued);
        }
        if let Some(at) = known {
            return self.place_known(at, fragment);
        }
        let open = if fragment.index.is_some() { self.by_index(fragment.index) } else { self.last() };
        match open {
            Some(at) if self.is_same(at, fragment.name) => Placed::Continued(at),
            _ => start,
        }
    }

    /// A complete call cannot grow. Some servers say it again whole at the end; others give all calls one id.
    fn place_known(&self, at: usize, fragment: &Fragment<'_>) -> Placed {
        let call = &self.calls[at];
        let more = fragment.arguments.trim();
        if !call.nesting.is_closed() || more.is_empty() {
            return Placed::Continued(at);
        }
        let again = call.name == fragment.name && call.arguments.trim() == more;
        if again { Placed::Ignored } else { Placed::Started(self.calls.len()) }
    }

    fn is_same(&self, at: usize, name: &str) -> bool {
        let call = &self.calls[at];
        call.name == name && !call.nesting.is_closed()
    }

    fn start(&mut self, fragment: &Fragment<'_>, make_id: impl FnOnce() -> String) {
        let usable = !fragment.id.is_empty() && self.by_id(fragment.id).is_none();
        let id = if usable { fragment.id.to_owned() } else { self.unused(make_id()) };
        let mut call = Call::new(fragment, id);
        call.append(fragment.arguments);
        self.calls.push(call);
    }

    fn carry_on(&mut self, at: usize, fragment: &Fragment<'_>) {
        let call = &mut self.calls[at];
        if !fragment.name.is_empty() && call.name != fragment.name {
            call.name = fragment.name.into();
        }
        call.append(fragment.arguments);
    }

    fn unused(&self, id: String) -> String {
        let mut candidate = id.clone();
        let mut n = 2;
        while self.by_id(&candidate).is_some() {
            candidate = format!("{id}_{n}");
            n += 1;
        }
        candidate
    }

    fn by_id(&self, id: &str) -> Option<usize> {
        if id.is_empty() { None } else { self.calls.iter().rposition(|c| c.id == id) }
    }

    fn by_index(&self, index: Option<u64>) -> Option<usize> {
        let index = index?;
        self.calls.iter().rposition(|c| c.index == Some(index))
    }

    fn last(&self) -> Option<usize> {
        self.calls.len().checked_sub(1)
    }
}

/// Follows the brackets of a JSON text piece by piece, so that "is it complete" costs nothing at the end of each piece.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Nesting {
    depth: usize,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    fn is_closed(self) -> bool {
        self.opened && self.depth == 0
    }

    fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            if self.in_string {
                self.read_in_string(*byte);
            } else {
                self.read_plain(*byte);
            }
        }
    }

    fn read_in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn read_plain(&mut self, byte: u8) {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                self.opened = true;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
