"""Which words state that a saved model or the data do not fit, are damaged, are not there or have ended.

Covers: TensorFlow and Keras files of all formats, HDF5, pickles, images, records, tables, archives.
Does not cover: shapes and types outside files (`_wordings_code.py`). Patterns are lower case and match folded text, the
exception's name first; loose ones hold for exceptions only (`raised`).
"""

from __future__ import annotations

from crashcart.why._said import Force, Kind
from crashcart.why._wording import Wording, wording

_SAVED = (
    wording(
        Kind.SAVED,
        Force.PLAIN,
        r"could not (?:be )?deseriali[sz]e|cannot deseriali[sz]e|error when deserializing|could not locate (?:class"
        r"|function) '",
        r"unknown (?:layer|initializer|loss ?function|metric ?function|optimizer|object|activation|regularizer"
        r"|constraint)\b ?:",
        r"restoring from checkpoint failed|assign requires shapes of both tensors to match",
        r"not found in (?:the )?checkpoint|variables? not in the checkpoint|find some variables in the checkpoint",
        r"not bound to checkpointed values",
        r"stored in (?:the )?checkpoint|attempting to restore variable|nothing except the root object matched",
        r"you are trying to load a weight file|loading weights into a model that has not|objects could not be loaded",
        r"(?:layer|weight) count mismatch|layer #\d+ \(named|not compatible with provided weight shape",
        r"in loading state_dict|(?:unexpected|missing) key\(s\) in state_dict|error\(s\) in loading",
        r"maximum supported (?:file format )?version|attempted to read a \w+ file with version|unable to load weights",
        r"no model (?:found )?in config|no model config found|file format not supported: filepath",
        r"not an sstable|save_path is not a valid checkpoint|op type not registered|nodedef mentions attr",
        r"metagraphdef associated with tags|didn't find op for builtin opcode|model provided has model identifier",
        r"tensorflow op(?:s|\(s\)).{0,80}not supported by this interpreter|custom ops? .{0,80}(?:not registered|unresolved)",
        r"unsupported pickle protocol|weights only load failed|can't get attribute '\w+' on <module",
        r"unrecognized keyword arguments?:? .{0,40}batch_(?:input_)?shape|requested the deserialization of a",
    ),
    wording(
        Kind.SAVED,
        Force.PLAIN,
        r"unable to revive|expected \d+ variables, but received|with a weight list of length|expects \d+ weight",
        r"unable to (?:synchronously )?open object|object '?[\w/]+'? doesn't exist"
        r"|converting graphdef to graph has failed",
        r"graphdef version|signature_?def.{0,40}(?:not found|could not)|bad marshal data|saved with (?:a )?(?:newer"
        r"|different)",
        r"checkpoint.{0,60}(?:incompatible|mismatch|does not match)|newer version of (?:tensorflow|keras)"
        r"|lambda layer.{0,80}unsafe",
        raised=True,
    ),
)

_SURVIVED = (
    wording(Kind.SAVED, Force.PLAIN, r"size mismatch for \S+: copying", raised=True),
    wording(Kind.SAVED, Force.HEALTHY, r"size mismatch for \S+: copying"),
)
"""PyTorch raises it; libraries over it print it, and go on with what fits."""

_HEADERS = (
    wording(
        Kind.DAMAGED,
        Force.PLAIN,
        r"safetensor\w{0,10}error|deserializing header|header ?too ?(?:large|small)|(?:invalid|incomplete) ?(?:header|metadata)",
    ),
)

_RAN_OUT = (
    wording(
        Kind.RAN_OUT,
        Force.PLAIN,
        r"outofrangeerror|(?:out_of_range|out of range): end of sequence",
        r"queue .{0,120}is closed and has insufficient elements",
        r"unexpected result of `?(?:train|test|predict)_function`?|expect x to be a non-empty array or dataset",
        r"must yield at least one|variable 'logs' (?:referenced before|where it is not)",
    ),
    wording(Kind.RAN_OUT, Force.PLAIN, r"\bend of sequence\b", raised=True),
    wording(Kind.RAN_OUT, Force.HEALTHY, r"your (?:input|dataset|dataset iterator) ran out of data"),
)

_MISSING = (
    wording(
        Kind.MISSING,
        Force.PLAIN,
        r"failed to find any matching files|savedmodel file does not exist|no files? match|no images found in",
        r"no file or directory found|found 0 images|filenotfounderror|isadirectoryerror|notadirectoryerror"
        r"|permissionerror|permissiondeniederror",
        r"stale (?:nfs )?file handle|\[errno 116\]",
        r"\[errno (?:2|13|20|21)\]|\[winerror (?:2|3|5)\]|the system cannot find the (?:file|path)",
        r"is not a (?:local folder|valid model identifier)|no file named \S|does not appear to have a file named",
        r"can't load (?:config\w*|tokenizer|the model|weights|image processor|feature extractor)\b.{0,20} for",
        r"max retries exceeded with url|nocredentialserror|unable to locate credentials|does not have storage\.",
        r"forbidden: 403|failed to establish a new connection",
        r"can't open file '?\S+'?: |!_?(?:src|ssize)\.empty\(\)|url fetch failure|nosuch(?:bucket|key)",
        r"(?<!object file: )no such file or directory|permission denied",
    ),
    wording(
        Kind.MISSING,
        Force.PLAIN,
        r"sequence has length 0|num_samples=0|errno = 2\b|invalid file ?name",
        r"access is denied|file (?:\S+ )?(?:does not exist|not found|doesn't exist)",
        r"(?:does not exist|not found|no such file): ?['\"]?(?:/|[a-z]:\\|gs://|s3://|\.\.?/)",
        r"(?:directory|folder|path|dataset|data file)s? .{0,200}(?:does not exist|doesn't exist|not found"
        r"|is not a directory)",
        r"(?:could not|couldn't|cannot|can't|unable to) (?:find|locate|open|read|access) (?:the )?(?:file|directory"
        r"|folder|path|dataset|image)\b",
        r"http(?:error:| response code| error) ?(?:403|404)|404 client error|is not a valid directory"
        r"|can't open/read file",
        raised=True,
    ),
)

_DAMAGED = (
    wording(
        Kind.DAMAGED,
        Force.PLAIN,
        r"datalosserror|(?:data_loss|data loss): |(?:corrupted|truncated) record|is this even a tfrecord",
        r"unknown image file format|invalid (?:jpeg|png|gif|bmp|webp) (?:data|file|header)|expected image \(",
        r"cannot identify image file|image file is truncated|broken data stream|unidentifiedimageerror",
        r"badzipfile|file is not a zip file|badgzipfile|not a gzipped file|compressed file ended before",
        r"error -?\d+ while decompressing|unpicklingerror|pickle data was truncated|invalid load key",
        r"jsondecodeerror|unicodedecodeerror|error tokenizing data|could not parse example"
        r"|can't parse serialized example",
        r"readerror: (?:file could not|not a gzip|bad checksum|unexpected end|truncated)|\[errno 5\]|input/output error",
        r"unable to decode bytes|(?:could|can) ?not decode (?:image|audio|bytes|the)",
        r"imdecode|checkvector\(1, cv_8u\)|(?:hash|checksum|digest) does not match|format not recogni[sz]ed|nobackenderror",
        r"file signature not found|truncated file: eof|libpng error|moov atom not found",
        r"is not a valid (?:u?int\d+|float\d*|double): |expect \d+ fields but have|could not correctly convert string",
        r"failed (?:reading zip archive|finding central directory)|pickled data when allow_pickle=false",
        r"trying to decode \w+ format using a wrong op|nonmatchingchecksumerror|invalid image data"
        r"|number of channels inherent in the image must be",
    ),
    wording(
        Kind.DAMAGED,
        Force.PLAIN,
        r"corrupt|premature end of|unexpected end of (?:data|file|stream)|incorrect (?:header|data) check|bad crc"
        r"|crc.{0,20}(?:failed|error|mismatch)",
        r"(?:jpeg|png|gif|bmp|image|wav|audio|video).{0,40}(?:decod\w+ (?:error|failed)|could not be decoded)"
        r"|failed to decode",
        r"decodeerror: error parsing message|eoferror: ran out of input|codec can't decode|parsererror"
        r"|emptydataerror|no columns to parse|not well-formed",
        r"is required but could not be found|bad (?:object header|symbol table|heap)|wrong b-?tree|addr overflow"
        r"|file read failed",
        r"failed to read all data for array|could only read \d+ elements|contains pickled \(object\) data"
        r"|failed to interpret file|checksum|magic number|not a proper (?:file|image)",
        r"unsupported (?:image|audio) (?:file )?(?:format|type)|error reading (?:image|file)|invalid wav"
        r"|expected .{0,20}riff",
        raised=True,
    ),
    wording(Kind.DAMAGED, Force.HEALTHY, r"corrupt jpeg data|libpng warning|extraneous bytes before marker"),
)

TABLE: tuple[Wording, ...] = (*_HEADERS, *_SAVED, *_SURVIVED, *_RAN_OUT, _DAMAGED[0], *_MISSING, *_DAMAGED[1:])
