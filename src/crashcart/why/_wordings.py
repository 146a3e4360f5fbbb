"""Which words state that a resource ran out, or that packages, CUDA or processes do not fit together.

Covers: memory of host and device, disk, shared memory, limits, OpenMP, fork, ABI, CUDA; TensorFlow 1.x to 2.21, Keras,
NumPy, PyTorch, JAX, the C and C++ runtimes.
Does not cover: failures of the user's own code and data (`_wordings_code.py`). Patterns are lower case and match folded
text; the order decides where two match, the more specific first.
"""

from __future__ import annotations

from crashcart.why._said import Force, Kind
from crashcart.why._wording import Wording, wording

IGNORED: Wording = wording(
    None,
    Force.HEALTHY,
    r"unable to register (?:cudnn|cufft|cublas) factory",
    r"computation placer already registered",
    r"tf-trt warning",
    r"numa node",
    r"executor start aborting",
    r"rendezvous is aborting with status: (?:out_of_range|out of range): end of sequence",
    r"the caller indicates that this is not a failure",
    r"'messagefactory' object has no attribute 'getprototype'",
    r"region to avoid oom due to memory fragmentation",
    r"to enable the following instructions",
    r"if the cause is memory fragmentation maybe",
    r"add report_tensor_allocations_upon_oom",
    r"mlir crash reproducer|mlir optimization passes",
    r"could not destroy cu\w+ handle",
    r"cupti|profiler session",
    r"pytorch_cuda_alloc_conf=|set max_split_size_mb",
)

LIMITS: tuple[Wording, ...] = (
    wording(Kind.MISSING, Force.DECISIVE, r"unable to lock file"),
    wording(
        Kind.PROCESSOR,
        Force.DECISIVE,
        r"(?:was|were) (?:compiled to use|built (?:using|with)) .{0,60}instructions,? (?:but these aren't"
        r"|which your (?:cpu|machine)"
        r"|but .{0,40}not (?:available|supported))",
        r"(?:cpu|processor|machine) (?:does not|doesn't) (?:support|have) .{0,40}(?:avx|sse4|fma)"
        r"|requires? (?:a )?(?:cpu|processor) .{0,40}avx"
        r"|fatal error: this program was not built to run in your system|please verify that both the operating system and the"
        r" processor support",
    ),
    wording(Kind.RETRACED, Force.HEALTHY, r"out of the last \d+ calls to .{0,400}triggered tf\.function retracing"),
    wording(
        Kind.STALLED,
        Force.DECISIVE,
        r"watchdog caught collective operation timeout|watchdog got stuck for \d+ seconds|collective .{0,80}timed out"
        r"|(?:nccl|gloo|mpi)\b.{0,120}(?:timed out|timeout (?:error|exceeded|reached|after))|timed out (?:waiting"
        r"|after) .{0,60}(?:for \w+ )?(?:recv|send|operation|all_?reduce|barrier"
        r"|peer|rank|clients? to)",
        r"waiting for remainder of ranks|one or more tensors were submitted to be reduced.{0,160}subset of ranks"
        r"|stalled (?:ranks|ops):",
        r"celltimeouterror|a cell timed out while it was being executed|timeout waiting for execute reply",
        r"deadlineexceedederror|timed out (?:initializing|after \d{1,9} seconds waiting|waiting for)|worker timeout \(pid",
        r"(?:c10d|tcpstore|rendezvous|store->get).{0,300}(?:timeout|timed out)",
        r"dataloader timed out after|barrier timed out|deadlock detected|possible deadlock",
    ),
    wording(
        Kind.OPENMP,
        Force.DECISIVE,
        r"omp: error #15\b",
        r"initializing lib\w*omp\w*\S*, but found lib\w*omp",
        r"multiple copies of the openmp runtime",
        r"mkl_threading_layer=intel is incompatible with libgomp",
    ),
    wording(Kind.OPENMP, Force.PLAIN, r"omp: (?:system )?error #(?!15\b|34\b|11\b|178\b)\d"),
    wording(
        Kind.OPENMP,
        Force.HEALTHY,
        r"found intel openmp \('libiomp'\) and llvm openmp|both intel openmp and llvm openmp",
    ),
    wording(
        Kind.PACKAGES,
        Force.DECISIVE,
        r"cannot load any more object with static tls",
        r"cannot allocate memory in static tls block",
    ),
    wording(
        Kind.PROCESS_LIMIT,
        Force.DECISIVE,
        r"too many open files|\[errno 24\]|\[errno 23\]",
        r"inotify watch limit|inotify instances|inotify.{0,200}no space left",
        r"received 0 items of ancdata",
        r"can't start new thread|cannot start new thread|unable to (?:create|start) (?:a )?(?:new )?(?:native )?thread",
        r"pthread_create.{0,60}(?:failed|resource temporarily)|thread creation (?:via pthread_create\(\) )?failed",
        r"failed to create (?:a )?(?:new )?thread|could not create thread"
        r"|unable to allocate necessary resources for omp",
        r"omp: error #34\b|omp: system error #11\b",
        r"blockingioerror: \[errno 11\]|\[errno 11\] resource temporarily|fork: retry"
        r"|resource temporar(?:il)?y unavailable",
        r"\[errno 27\]|file too large",
        r"random_device: device not available|random_device\(const std::string&\): device not available",
    ),
    wording(
        Kind.SHARED_MEMORY,
        Force.DECISIVE,
        r"(?:insufficient|out of|exhausted|not enough) shared memory|shared memory (?:limit|is full|exhausted)|\(shm\)",
        r"bus error.{0,300}(?:worker|shared|shm)|(?:worker|shared|shm).{0,300}bus error",
        r"(?:unable to|failed to|could not|cannot|can't) [\w ]{1,40}(?:</torch_|/dev/shm|shared memory (?:object"
        r"|segment|region|file|block))",
        r"(?:/dev/shm|/torch_|/psm_|/nccl-|shm_open|shm file|shmem|shmget).{0,300}(?:no space left|errno 28"
        r"|cannot allocate|errno 12|failed)",
        r"(?:no space left|errno 28).{0,300}(?:/dev/shm|/torch_|/psm_|shm)",
        r"omp: error #178\b|can't open shm",
        r"unable to allocate shared memory|creating shared memory segment|increase .{0,20}shared memory|--shm-size",
    ),
    wording(Kind.SHARED_MEMORY, Force.VAGUE, r"nccl.{0,200}unhandled system error|ncclsystemerror: system call"),
    wording(
        Kind.DISK,
        Force.DECISIVE,
        r"no space left on (?:the )?device|\[errno 28\]|errno = 28\b|os error 28\b|enospc",
        r"disk quota exceeded|\[errno 122\]|errno = 122\b|edquot",
        r"not enough (?:free )?(?:disk )?space (?:on|left|for|available)|there is not enough space on the disk"
        r"|winerror 112\b",
        r"(?:disk|volume|file ?system|partition|drive) (?:is |was )?full|disk is full|not enough (?:free )?disk space",
        r"resource[ _]?exhausted(?:error)?: (?:[a-z]:\\|/|\./|gs://|s3://|\S+(?:/|\\)\S+[;:])",
        r"error writing.{0,200}resource exhausted",
        r"\d{1,15} requested and \d{1,15} written",
        r"pytorchstreamwriter failed writing|inline_container.{0,200}(?:write|unexpected pos)",
        r"file write failed|unable to (?:synchronously )?write .{0,40}(?:errno = 28|no space)",
    ),
    wording(
        Kind.FORK,
        Force.DECISIVE,
        r"cannot re-initialize cuda in forked subprocess",
        r"(?:failed setting context|could not retrieve cuda device count|failed to (?:get|query|set)[^:]{0,60}"
        r"|error \w+[^:]{0,60}): cuda_error_not_initialized",
        r"(?<!cuinit: )cuda_error_not_initialized|cuda error: initialization error|cuda error \(3\)"
        r"|cuda runtime error \(3\)|error=3 : initialization error",
        r"may have been in progress in another thread when fork\(\) was called",
        r"the process has forked and you cannot use this corefoundation",
        r"forked? (?:process|subprocess|child).{0,60}(?:cuda|tensorflow|grpc)"
        r"|after (?:a )?fork.{0,40}(?:not supported|unsafe)",
    ),
    wording(
        Kind.FORK,
        Force.HEALTHY,
        r"os\.fork\(\) (?:was called|is incompatible with multithreaded)",
        r"is multi-threaded, use of fork\(\) may lead to deadlocks",
    ),
    wording(
        Kind.CONSTANT,
        Force.DECISIVE,
        r"(?:larger|more|bigger|greater) than (?:the )?2 ?gi?b|(?:exceeds?|exceeded|over"
        r"|above) (?:the )?(?:\w+ ){0,4}(?:of )?2 ?gi?b",
        r"2 ?gi?b (?:hard )?limit|>\s?2 ?gi?b",
        r"was modified concurrently during serialization|protocol message was rejected because it was too big"
        r"|message.{0,60} exceeds maximum protobuf size",
        r"failed to serialize (?:proto|message)|encodeerror: failed to serialize|error serializing message",
        r"graphdef (?:is|was) too (?:large|big)|cannot serialize protocol buffer of type \S+ as the serialized size",
    ),
    wording(Kind.CONSTANT, Force.HEALTHY, r"a large amount of constants were captured"),
)

TAKEN_AT_START: tuple[Wording, ...] = (
    wording(
        Kind.DEVICE_TAKEN,
        Force.DECISIVE,
        r"(?:cudeviceprimaryctxretain|implicit initialization|setting (?:gpu|device)|create context"
        r"|cuctxcreate).{0,160}out of memory",
        r"(?:cudeviceprimaryctxretain|cuctxcreate|failed to create context).{0,160}out_of_memory",
        r"failed to (?:get|query) (?:device|total|available|free) memory.{0,80}out.of.memory",
        r"out_of_memory.{0,300}cuctxcreate",
        r"gpu is (?:already )?(?:in use|busy)|all cuda-capable devices are busy|cuda_error_devices?_unavailable",
    ),
)

LIBRARIES: tuple[Wording, ...] = (
    wording(
        Kind.DEVICE_CODE,
        Force.PLAIN,
        r"illegal memory access|cuda_error_illegal_(?:address|instruction)|cudaerrorillegal|cudaerrormisaligned"
        r"|misaligned address",
        r"unspecified launch failure|cuda_error_launch_(?:failed|timeout)|cudaerrorlaunch(?:failure|timeout)"
        r"|launch timed out and was terminated|cuda_error_hardware_stack",
        r"uncorrectable (?:nv ?link|ecc) error|cuda_error_ecc|cudaerrorecc|fallen off the bus|nvrm: xid|gpu is lost"
        r"|(?:gpu|device) (?:was |has been )?lost|memory access fault by gpu node|hsa_status_error",
        r"unexpected event status: 1\b|error polling for event status",
    ),
    wording(
        Kind.DEVICE_CODE, Force.VAGUE, r"gpu sync failed|gpu_?synchronize .{0,40}failed|could not synchronize on cuda"
    ),
    wording(Kind.CUDA, Force.HEALTHY, r"failed call to cuinit|could not find cuda drivers"),
    wording(
        Kind.CUDA,
        Force.DECISIVE,
        r"loaded (?:runtime )?cudnn library:? .{0,80}but source was compiled with",
        r"loaded cudnn version \d+ but source was compiled|found cudnn version .{0,40}but .{0,40}(?:built|compiled)",
        r"cuda driver version is insufficient|driver on your system is too old"
        r"|driver (?:version )?(?:is )?(?:too old|insufficient)",
        r"nvidia-smi has failed|couldn't communicate with the nvidia driver|could not find registered platform",
        r"unsupported display driver / cuda driver|forward compatibility was attempted|driver/library version mismatch",
        r"ptx was compiled with an unsupported toolchain|unsupported ptx|cuda_error_(?:invalid|unsupported)_ptx",
        r"no kernel image is available|cuda_error_no_binary_for_gpu|cuda_error_invalid_image"
        r"|device kernel image is invalid",
        r"hiperrornobinaryforgpu|find (?:code object|binary) for (?:all )?current devices|hiperrorinvaliddevicefunction",
        r"invalid device function|cuda_error_system_driver_mismatch|cuda_error_compat_not_supported",
        r"\bsm_\d+ is not compatible with|(?:gpu|device).{0,60}compute capability.{0,80}(?:not supported"
        r"|unsupported|no longer supported)",
        r"cudnn_status_(?:arch|version|sublibrary_version)_mismatch|cudnn_status_sublibrary_loading_failed"
        r"|cudnn.{0,40}version (?:mismatch|incompatib)",
        r"kernel version \S+ does not match dso version",
        r"zlibwapi|libcudnn_\w{1,40}\.so\S{0,60}.{0,80}(?:cannot open|error|not found|library path)|could not load (?:library"
        r"|symbol) (?:lib)?cudnn",
        r"libdevice(?:\.10\.bc)? (?:is required|not found)|can't find libdevice|could not find libdevice",
        r"no ptx compilation provider|couldn't (?:invoke|get) ptxas|ptxas (?:exited|returned|fatal|does not support"
        r"|version)|ptxas.{0,60}(?:not found|too old)",
        r"compiled with different cuda versions|detected cuda version .{0,40}mismatches"
        r"|cuda version.{0,40}(?:mismatch|does not match)",
        r"cuda backend failed to initialize|unable to initialize backend 'cuda'",
        r"importerror: .{0,200}lib(?:cud|cublas|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvinfer|nvjitlink"
        r"|cupti)\w{0,40}\.so",
        r"importerror: could not find '(?:cud|cublas|nvcuda)\w{0,40}\.dll'|could not find '?(?:cudart|cudnn|cublas"
        r"|nvcuda)\w{0,40}\.dll",
        r"oserror: .{0,80}lib(?:cud|cublas|cufft|curand|cusolver|cusparse|nccl|nvrtc)\w{0,40}\.so\S{0,60}: cannot open",
        r"error loading .{0,200}(?:cudnn|cublas|cudart|cufft|caffe2_nvrtc|torch_cuda|c10_cuda)\w{0,40}\.dll",
        r"(?:error|fatal).{0,20}could not load (?:dynamic )?library '?(?:lib)?(?:cud|cublas|nvcuda)",
        r"nvidia-container-cli: |unsatisfied condition: (?:cuda|driver)",
        r"implicit initialization on gpu:\d+ failed\. status: unknown",
        r"cuda unknown error|cudaerrorunknown|cuda runtime error \((?:30|35|38|48|209)\)|cuda driver initialization failed",
        r"cuda_error_(?:unknown|stub_library)|cudaerrorstublibrary|cudaerrorinsufficientdriver|cudaerrornokernelimage",
        r"requires? (?:cuda|cudnn) (?:version )?[\d.]+|minimum required (?:driver|cudnn)",
    ),
    wording(
        Kind.CUDA,
        Force.DECISIVE,
        r"lib(?:cud|cublas|cufft|curand|cusolver|cusparse|nccl|nvrtc)\w{0,40}\.so\S{0,60}: cannot open shared object file",
        r"nvml shared library not found|nvmlerror_librarynotfound",
        raised=True,
    ),
    wording(
        Kind.CUDA,
        Force.VAGUE,
        r"failed to call then\w{0,40}(?:rnn|ctc|convolve)|could not convert batchdescriptor|failed to set cudnn stream",
        r"check failed: .{0,60}(?:getconvolve\w*algorithms|getblasgemmalgorithms|cudnn)",
        r"unable to find a valid cudnn algorithm|unhandled cuda error|nccl error in: ",
        r"dnn library (?:is not found|initialization failed)|jit compilation failed|generating device code failed",
        r"cuda_error_invalid_(?:handle|source|context)|culaunchkernel\b.{0,80}failed|cudaerrorinvalid(?:kernelimage|resourcehandle)",
        r"failed to get convolution algorithm",
        r"cu(?:blas|dnn|solver|sparse|fft|rand)_status_(?!not_initialized|alloc_failed|internal_error)[a-z]{4}",
        r"cudnn[_ ]frontend|no (?:valid )?(?:execution plans?|engine configurations?)|cudnn (?:execute|launch|run)\w* failed",
        r"could not load (?:dynamic )?library '?(?:lib)?(?:cudnn|cublas)\w{0,40}\.so.{0,100}(?:undefined symbol|version)",
    ),
    wording(
        Kind.CUDA,
        Force.HEALTHY,
        r"could not load dynamic library '?(?:lib)?(?:cud|cublas|cufft|curand|cusolver|cusparse|nvinfer|nccl)",
        r"cannot dlopen some gpu libraries|skipping registering gpu devices",
        r"not built with cuda kernel binaries compatible with|ignoring visible gpu device"
        r"|minimum required cuda capability",
    ),
    wording(
        Kind.DEVICE_TAKEN,
        Force.VAGUE,
        r"(?:could not|failed to|cannot) create (?:cudnn|cublas|cusolver\w*|cusparse|cufft) handle",
        r"cu(?:blas|dnn|solver|sparse)_status_(?:not_initialized|alloc_failed|internal_error)",
        r"gpusolverdncreate|cusolver internal error|gpublascreate",
        r"blas g?emm launch failed|blas xgemm\w* launch failed|failed to run cublas routine"
        r"|attempting to perform blas operation",
        r"no algorithm worked|blas gemv launch failed|failed to create session|failed initializing streamexecutor",
    ),
    wording(
        Kind.PACKAGES,
        Force.DECISIVE,
        r"descriptors (?:cannot|should not|can ?not)(?: not)? be created directly",
        r"(?:incompatible|mismatched) protobuf gencode|gencode/runtime",
        r"file already exists in database|couldn't build proto file into descriptor pool"
        r"|google::protobuf::fatalexception",
        r"duplicate (?:file name|symbol) '?\S*\.proto|this program (?:requires"
        r"|was compiled against) version \S+ of the protocol buffer",
        r"size changed, may indicate binary incompatibility",
        r"compiled using numpy 1\.x cannot be run in|_array_api not found|numpy\.(?:_?core)\.\S+ failed to import",
        r"compiled against (?:numpy )?(?:c-)?a[pb]i version",
        r"undefined symbol|symbol not found|symbol lookup error|unresolved external"
        r"|the specified procedure could not be found",
        r"(?:glibcxx|cxxabi|glibc|gomp|openssl)_[\d.]+\S? not found|version .?(?:glibcxx|cxxabi|glibc|gomp)_",
        r"dll load failed|a dynamic link library \(dll\) initialization routine failed"
        r"|is not a valid win32 application|winerror (?:126|127|182|193|1114)\b|0xc0000135|0xc000007b|0xc0000142"
        r"|error loading \"[^\"]{0,300}\.dll\"",
        r"exec format error|bad cpu type in executable",
        r"mach-o.{0,80}wrong architecture|incompatible architecture|image not found|library not loaded",
        r"wrong elf class|invalid elf header|elf load command|file too short",
        r"importerror: .{0,200}: cannot open shared object file",
        r"intel mkl fatal error|cannot load (?:libmkl|mkl_)",
        r"another metric with the same name already exists|keras cannot be imported",
        r"unable to convert function return value to a python type",
        r"initialization of \S+ raised unreported exception",
        r"requires (?:tensorflow|numpy|keras|torch|jax|jaxlib|tf[-_]keras|protobuf)\b.{0,40}(?:version|>=|==|<"
        r"|newer|\d+\.\d+)",
        r"(?:installed version of keras is keras 3|only compatible with keras 2|keras 2 is no longer supported)",
        r"_dictwrapper|is not an acceptable base type|numpy is not available|'<attribute 'dtype' of 'numpy\.generic' objects>'",
        r"versionconflict|contextualversionconflict|distributionnotfound",
        r"no matching distribution found for|could not find a version that satisfies the requirement"
        r"|is not a supported wheel on this platform|requires a different python|conflicting dependencies",
        r"jaxlib (?:is )?version|jaxlib version .{0,40}(?:newer|older|incompatible)",
        r"please upgrade \w+ to >=|your numpy version is|error importing numpy: you should not try",
        r"thread\._local' object has no attribute 'value'",
        r"mutex lock failed: invalid argument",
        r"cannot convert a symbolic (?:tf\.)?tensor \((?:\S*(?:lstm|gru|rnn|bidirectional)\S*)\) to a numpy array",
        r"bad magic number in '|bad marshal data.{0,40}\.pyc",
        r"repeatedcompositefieldcontainer object does not support item assignment",
        r"__\w{0,40}std__\w{0,40}once_call|std::__once_call_impl|pyarray_api \(\)",
        r"operator torchvision::nms does not exist|couldn't load custom c\+\+ ops",
    ),
    wording(Kind.PACKAGES, Force.DECISIVE, r"\.so\S{0,60}: cannot open shared object file", raised=True),
    wording(
        Kind.PACKAGES,
        Force.DECISIVE,
        r"(?:must be an instance|only instances) of .{0,40}\b(?:keras\.)?(?:layer|model|optimizer|loss|metric|callback)s?\b"
        r".{0,160}(?:tensorflow_hub|tf_keras|tensorflow\.python\.keras|keras\.(?:src|engine|layers|models|optimizers)\.)",
        raised=True,
    ),
    wording(
        Kind.PACKAGES,
        Force.VAGUE,
        r"c extension: .{0,60}not built",
        r"failed to load the native tensorflow runtime",
        r"tensorflow is not (?:properly )?installed",
    ),
    wording(
        Kind.PACKAGES,
        Force.HEALTHY,
        r"(?:has requirement|requires) \S+.{0,120}but you(?:'ll)? have",
        r"is required for this version of scipy|inconsistentversionwarning",
    ),
)
