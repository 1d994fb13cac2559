//! The ledger: sessions, messages, parts, journal, approvals and todos in SQLite, behind one writer thread
