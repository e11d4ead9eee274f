//! Text of another encoding as a stream of UTF-8.

use std::fs;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

use encoding_rs::Decoder;

use crate::codec::Encoding;

/// Bytes that are decoded at a time, 64 KiB.
const RAW_BYTES: usize = 64 << 10;

/// A file that is decoded while it is read, from behind its byte order mark on.
pub(super) struct DecodingReader<'a> {
    file: &'a mut fs::File,
    decoder: Decoder,
    raw: Vec<u8>,
    text: Vec<u8>,
    /// What of `text` is still to be read.
    ready: std::ops::Range<usize>,
    ended: bool,
}

impl<'a> DecodingReader<'a> {
    pub(super) fn open(file: &'a mut fs::File, encoding: Encoding) -> io::Result<Self> {
        file.seek(SeekFrom::Start(encoding.mark().len() as u64))?;
        let decoder = encoding.standard().new_decoder_without_bom_handling();
        // Enough for the whole of `raw`, so that one call always takes it all.
        let text = vec![0; decoder.max_utf8_buffer_length(RAW_BYTES).unwrap_or(RAW_BYTES * 4)];
        Ok(Self {
            file,
            decoder,
            raw: vec![0; RAW_BYTES],
            text,
            ready: 0..0,
            ended: false,
        })
    }
}

impl Read for DecodingReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for DecodingReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.ready.is_empty() && !self.ended {
            let count = self.file.read(&mut self.raw)?;
            self.ended = count == 0;
            let (_, _, written, _) =
                self.decoder
                    .decode_to_utf8(&self.raw[..count], &mut self.text, self.ended);
            self.ready = 0..written;
        }
        Ok(&self.text[self.ready.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.ready.start += count;
    }
}
