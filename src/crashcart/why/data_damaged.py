"""W401 data-damaged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import conclude, first_sentence
from crashcart.why._text import stated

_SCAN = "find all bad files before the next run: decode each one once in a loop, and print the path where that fails"
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"starting with '?b\\?'|b\\'\\\\x",
        "image bytes were stored as the printed form of a bytes object",
        "write the bytes themselves into the record: tf.train.BytesList(value=[data]) with data from open(path,"
        " 'rb').read(), not str(data)",
        "regenerate the record files after that",
    ),
    advice(
        r"(?P<what>truncated|corrupted) record at (?P<offset>\d+)",
        "a record file is damaged: {what} record at byte {offset}",
        "the file was cut or changed: copy, upload or download it again, and compare sizes; or regenerate it",
        "close the writer: `with tf.io.TFRecordWriter(path) as writer:`; a file that is still being written reads"
        " as truncated",
        "if it was written compressed: TFRecordDataset(path, compression_type='GZIP')",
        _SCAN,
    ),
    advice(
        r"sstable|data.?loss|tfrecord",
        "a data file is damaged, or is not of the format it is read as",
        "copy, download or upload it again, or regenerate it; compare sizes and checksums",
        _SCAN,
    ),
    advice(
        r"jsondecodeerror|expecting (?:value|property name|',' delimiter)|unterminated string|extra data",
        "a JSON text is damaged, or is no JSON",
        "look at the place that the message names: an empty file, a cut download, an HTML page or several objects in a row",
        "for one object a line: `[json.loads(line) for line in file]`",
    ),
    advice(
        r"unicodedecodeerror|codec can't decode|invalid (?:start|continuation) byte",
        "a text file is not in the encoding that it is read with",
        "give the encoding it has: `open(path, encoding='latin-1')`, `read_csv(path, encoding='cp1252')`; `file -i PATH` tells",
        "see whether it is text at all: compressed and binary files start with bytes that no encoding has",
    ),
    advice(
        r"required but could not be found|serialized example|parse example|parse_example",
        "the records do not hold the features that the parser asks for",
        "compare the feature names, types and lengths of the writer with those in parse_single_example",
        "look at one record: tf.train.Example.FromString(next(iter(tf.data.TFRecordDataset(path))).numpy())",
        "regenerate the files, or give the feature a default_value",
    ),
    advice(
        r"image|jpeg|png|gif|bmp|decode_(?:and_crop|webp)",
        "an image file is damaged, or is not an image of a known format",
        "remove or convert the file: not every .jpg is a JPEG (WebP, HEIC, an HTML page, an empty file)",
        "records: regenerate the file and check the copy or transfer; the bytes must be those of the image file",
        _SCAN,
        "to go on without the bad ones: dataset.ignore_errors() after the decoding map",
    ),
    advice(
        r"zip|gzip|compress|crc|archive|checksum",
        "an archive is damaged or incomplete",
        "download or copy it again; an interrupted download leaves a file behind that later runs reuse"
        " (~/.keras/datasets): delete it",
        "see whether it is an archive at all: `file PATH` (a saved web page is not)",
    ),
    advice(
        r"signature not found|truncated file|hdf5|\bh5|header|b-?tree|safetensor",
        "a file of weights or arrays is damaged, or is none",
        "`file PATH` and `head -c 200 PATH` tell what it is: a Git LFS pointer (`git lfs install && git lfs pull`) or a web page"
        " is the usual answer; download the file again",
        "a run that was killed while saving leaves half a file: use the checkpoint before it, and write to a"
        " temporary name first",
    ),
    advice(
        r"pickle|load key|ran out of input",
        "a pickle file is damaged, or is not a pickle",
        "`file PATH` tells what it is: an empty file, a Git LFS pointer and a web page are the usual answers; get"
        " or write it again",
        "open it in binary mode: open(path, 'rb')",
    ),
    advice(
        r"json|codec|utf-8|tokenizing|fields|parser|valid int|valid float|convert string|columns",
        "a text file is not what the reader expects",
        "look at the line or byte that the message names: another delimiter, encoding (encoding='latin-1'), a"
        " header, a broken last line",
        "remove or correct the bad rows; on_bad_lines='warn' shows them in pandas",
    ),
    advice(
        r"",
        "",
        "get or write the file again (download it anew; under Git LFS: `git lfs pull`), and compare sizes and checksums",
        _SCAN,
    ),
)
_FILE = re.compile(r"((?:/|[A-Za-z]:\\|gs://|s3://)[^\s'\";,]{1,400}\.\w{1,10})")


@rule("W401", "data-damaged", Rank.KIND)
def data_damaged(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """A data file is damaged, or is not what it claims to be.

    ## What it means

    A decoder or parser met bytes that it cannot read: a cut copy, an interrupted download, a file of another format
    under a familiar ending, a record that was never closed. One such file ends the whole run.

    ## How we know

    The message states it (DataLoss, decode and parse errors). Notices of libjpeg about extraneous bytes alone also
    stand in the logs of programs that end well.

    ## What to do

    Find the file, replace or remove it, and check the whole data set once before the next long run.
    """
    for statement in stated(Kind.DAMAGED, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        file = _FILE.search(statement.words)
        headline = row.headline or f"data is damaged: {first_sentence(statement.words)}"
        yield conclude(statement, headline + (f" ({file[1]})" if file else ""), row.remedy)
