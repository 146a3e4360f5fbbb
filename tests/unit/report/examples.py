"""Reports with their evidence, in realistic figures, and evidence that means harm."""

from __future__ import annotations

import math
from typing import Any

from crashcart.evidence import (
    ChildEnd,
    Crash,
    Disk,
    Ending,
    Environment,
    ErrorRecord,
    Event,
    Evidence,
    Frame,
    GpuDevice,
    Holder,
    HolderNote,
    KernelLog,
    Log,
    LogLine,
    Machine,
    MemoryLimit,
    NativeFrame,
    PipelineNote,
    PipelineStage,
    Program,
    Sample,
    Stack,
    StackDump,
)
from crashcart.finding import Cause, Confidence, Finding, Report, Unchecked, Where
from crashcart.units import GIB, MIB

CWD = "/home/ada/vision"
PACKAGES = "/home/ada/venv/lib/python3.11/site-packages"
LIMIT_BYTES = 2_995_781_632
SOURCE = "large_tensor = np.random.rand(10000, 10000, 3).astype(np.float32)"
ESC_TITLE = "\x1b]0;owned\x07"
SCRIPT = "<script>alert('owned')</script>"
HOSTILE = (
    f"{SCRIPT} \x1b[31mred\x1b[0m {ESC_TITLE} \x07 \x9b2J \u202egpj.exe\u202c \udce9 "
    "\"' onload=alert(1) &amp; {{ 7*7 }}"
)


def machine(limit_bytes: int = LIMIT_BYTES) -> Machine:
    return Machine(
        system="Linux",
        release="6.8.0-45-generic",
        architecture="x86_64",
        cores=8,
        cpu_model="Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        cpu_flags=frozenset({"avx", "avx2", "fma", "sse4_2"}),
        ram_bytes=24 * GIB,
        swap_bytes=0,
        boot_id="4f8c2f0e-6a3b-4b6e-9f59-5b1f6f0c8d11",
        limits=(
            MemoryLimit("machine", 24 * GIB, "/proc/meminfo MemTotal"),
            MemoryLimit("container", limit_bytes, "memory.limit_in_bytes"),
        ),
        rlimits={"nofile": 1024, "nproc": 95423, "as": None, "data": None, "stack": 8 * MIB, "core": 0},
    )


def environment() -> Environment:
    packages = {"tensorflow": "2.21.0", "keras": "3.15.0", "numpy": "2.1.3", "pandas": "2.2.3", "protobuf": "5.28.2"}
    return Environment(
        python="3.11.9",
        executable="/home/ada/venv/bin/python",
        packages=packages | {f"package-{index:02d}": f"1.{index}.0" for index in range(40)},
        variables={"TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "", "API_TOKEN": "(redacted)"},
        modules=frozenset({"tensorflow", "keras", "numpy"}),
        search_path=("", "/usr/lib/python3.11", PACKAGES),
    )


def program(*argv: str) -> Program:
    return Program(
        argv or ("python", "train.py", "--epochs", "20"), CWD, 4711, 1_726_480_981.2, "train.py", hooked=True
    )


def own(line: int, function: str, source: str | None = None, file: str = "train.py") -> Frame:
    return Frame(f"{CWD}/{file}", line, function, source, own=True)


def foreign(path: str, line: int, function: str, source: str | None = None) -> Frame:
    return Frame(f"{PACKAGES}/{path}", line, function, source)


def oom_samples(count: int = 120, seconds: float = 12.4) -> tuple[Sample, ...]:
    """Start-up to 0.6 GiB, a plateau with the data at 1.1 GiB, then the climb to the limit."""
    samples = []
    for index in range(count):
        share = index / (count - 1)
        rise = 0.6 * min(1.0, share / 0.2) + 0.5 * max(0.0, min(1.0, (share - 0.35) / 0.1))
        climb = 1.56 * max(0.0, (share - 0.74) / 0.26) ** 1.3
        wave = 0.02 * math.sin(index)
        rss_bytes = int((rise + climb + max(0.0, wave)) * GIB)
        samples.append(
            Sample(
                at_s=share * seconds,
                rss_bytes=rss_bytes,
                tree_rss_bytes=rss_bytes + (int(0.12 * GIB) if share > 0.4 else 0),
                used_bytes=rss_bytes,
                limit_bytes=LIMIT_BYTES,
                cpu_s=share * seconds * 1.4,
                threads=19,
                children=2 if share > 0.4 else 0,
            )
        )
    return tuple(samples)


def oom_stacks() -> tuple[StackDump, ...]:
    main = Stack(
        "MainThread",
        (
            own(31, "<module>", "main()"),
            own(22, "main", "data = load(args.size)"),
            own(5, "load", SOURCE),
            foreign("numpy/_core/_methods.py", 118, "_amax", "return umr_maximum(a, axis, None, out)"),
        ),
        main=True,
    )
    worker = Stack(
        "Thread-2 (_monitor)",
        (
            Frame("/usr/lib/python3.11/threading.py", 1002, "_bootstrap", "self._bootstrap_inner()"),
            Frame("/usr/lib/python3.11/threading.py", 324, "wait", "waiter.acquire()"),
        ),
    )
    beats = tuple(StackDump(float(at), 4711, (main, worker)) for at in range(1, 12))
    return (*beats, StackDump(11.2, 4711, (main, worker), "memory"), StackDump(12.1, 4711, (main, worker), "memory"))


def oom_evidence() -> Evidence:
    stages = (
        PipelineStage("prefetch", -1, 32 * 602_112),
        PipelineStage("batch", 32, 32 * 602_112),
        PipelineStage("shuffle", 10_000, 602_112),
        PipelineStage("map", None, None),
    )
    early = HolderNote(6.0, 4711, (Holder("labels", "ndarray", 40 * MIB, "int64 (5242880,)", "load", None, "numpy"),))
    last = HolderNote(
        12.1,
        4711,
        (
            Holder("large_tensor", "ndarray", 2_400_000_000, "float64 (10000, 10000, 3)", "load", None, "numpy"),
            Holder(
                "history", "list of 340 EagerTensor", 212 * MIB, "340 × float32 (128, 1280)", "main", 340, "builtins"
            ),
            Holder("labels", "ndarray", 40 * MIB, "int64 (5242880,)", "load", None, "numpy"),
        ),
        (PipelineNote("train_ds", stages),),
    )
    kernel = (
        "[183291.114] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "[183291.120] memory: usage 2925568kB, limit 2925568kB, failcnt 1293",
        "[183291.131] Memory cgroup out of memory: Killed process 4711 (python) total-vm:9437184kB, "
        "anon-rss:2925011kB, file-rss:71232kB, shmem-rss:0kB, UID:1000 pgtables:6420kB oom_score_adj:0",
    )
    log = tuple(
        LogLine(index + 1, f"Epoch {index // 10 + 1}/20, step {index}: loss {1.9 - index * 0.011:.4f}", "stdout")
        for index in range(60)
    )
    return Evidence(
        program=program(),
        machine=machine(),
        environment=environment(),
        samples=oom_samples(),
        events=(
            Event(0.0, "start", "program started", 4711),
            Event(2.1, "import", "tensorflow imported", 4711, {"seconds": 1.9}),
            Event(4.4, "epoch", "epoch 1 began", 4711),
            Event(9.2, "epoch", "epoch 2 began", 4711),
            Event(11.2, "guard", "memory at 80 % of the limit", 4711),
        ),
        stacks=oom_stacks(),
        holders=(early, last),
        errors=(),
        log=Log((*log, LogLine(61, "\x1b[1mKilled\x1b[0m", "stderr")), dropped_bytes=18_211),
        kernel_log=KernelLog(kernel),
        gpus=(GpuDevice(0, "NVIDIA A10G", 24 * GIB, 23 * GIB, "550.90.07", {991: 600 * MIB}),),
        disks=(Disk("/home", 252 * GIB, 78 * GIB, "ext4"),),
        children=(ChildEnd(4802, "python (loader)", 12.38, 61 * MIB),),
        ending=Ending(
            "signal",
            12.4,
            signal=9,
            signal_name="SIGKILL",
            oom_kills_group=1,
            oom_kills_host=1,
            limit_hits_group=1293,
            same_boot=True,
            peak_rss_bytes=2_868_903_936,
        ),
    )


def oom_finding() -> Finding:
    return Finding(
        cause=Cause.CONTAINER_MEMORY,
        headline="train.py was killed: its container ran out of memory",
        because=(
            'the kernel log names pid 4711: "Memory cgroup out of memory", anon-rss 2.79 GiB',
            "the group's limit is 2.79 GiB (memory.limit_in_bytes); it grew from 0.6 to 2.8 GiB in 3.1 s",
        ),
        remedy=(
            "keep the array in float32 from the start: np.random.default_rng().random(shape, dtype=np.float32) "
            "needs 1.12 GiB instead of 2.24 GiB and no second copy",
            "raise the container's limit above 4 GiB: docker run --memory 5g …",
            "crashcart run --guard -- python train.py",
        ),
        confidence=Confidence.CERTAIN,
        where=Where(f"{CWD}/train.py", 5, "load", SOURCE, age_s=0.3),
        held=("large_tensor 2.24 GiB float64 (10000, 10000, 3)", "history 212 MiB list of 340 EagerTensor"),
        code="W101",
    )


def other_findings(count: int = 2) -> tuple[Finding, ...]:
    first = Finding(
        Cause.MEMORY_LEAK,
        "the list history grows by one tensor in each step",
        ("it held 12 elements at 5.0 s and 340 at 12.1 s",),
        ("append float(loss) instead of loss",),
        Confidence.POSSIBLE,
        Where(f"{CWD}/train.py", 18, "main", "history.append(loss)"),
        code="W140",
    )
    second = Finding(
        Cause.PIPELINE_MEMORY,
        "the shuffle buffer of train_ds would hold 5.61 GiB when full",
        ("shuffle(10000) × 588 KiB for each element",),
        ("shuffle(1000) before decoding the images",),
        Confidence.LIKELY,
        code="W120",
    )
    return (first, second) * (count // 2) + (first,) * (count % 2)


def oom_report(others: int = 2) -> Report:
    return Report(
        "train.py",
        (oom_finding(), *other_findings(others)),
        ("W001", "W101", "W120", "W140", "W201"),
        (Unchecked("W301", "native-crash-in-library", ("crash",)),),
        {"recording": "20240916-120301-4711"},
    )


def oom() -> tuple[Report, Evidence]:
    return oom_report(), oom_evidence()


def segfault() -> tuple[Report, Evidence]:
    library = f"{PACKAGES}/tensorflow/python/_pywrap_tensorflow_internal.so"
    frames = (
        NativeFrame("/lib/x86_64-linux-gnu/libc.so.6", "__memmove_avx_unaligned_erms", 0x1D1),
        NativeFrame(library, "_ZN10tensorflow6Tensor13CopyFromInternalERKS0_RKNS_11TensorShapeE", 0x5C),
        NativeFrame(library, "tensorflow::ScatterNdUpdateOp<Eigen::ThreadPoolDevice, float, int>::Compute", 0x2F0),
        NativeFrame("/lib/x86_64-linux-gnu/libpthread.so.0", None, 0x8609),
    )
    main = Stack(
        "MainThread",
        (
            own(44, "<module>", "update(table, rows)", "embed.py"),
            own(17, "update", "table = tf.tensor_scatter_nd_update(table, rows, values)", "embed.py"),
            foreign("tensorflow/python/util/traceback_utils.py", 150, "error_handler", "return fn(*args, **kwargs)"),
            foreign("tensorflow/python/ops/gen_array_ops.py", 11420, "tensor_scatter_update"),
            foreign("tensorflow/python/eager/execute.py", 53, "quick_execute"),
        ),
        main=True,
    )
    samples = tuple(Sample(index * 0.5, int((0.4 + 0.02 * index) * GIB), limit_bytes=24 * GIB) for index in range(14))
    finding = Finding(
        Cause.NATIVE_CRASH,
        "embed.py crashed in native code: SIGSEGV in tensorflow::ScatterNdUpdateOp while it copied a tensor",
        (
            "the fatal-signal handler saw SIGSEGV at address 0x7f3a00000010",
            "the innermost library is libc.so.6, called by TensorFlow",
        ),
        ("check that each row of `rows` is inside the table: tf.debugging.assert_less(rows, table.shape[0])",),
        Confidence.LIKELY,
        Where(f"{CWD}/embed.py", 17, "update", main.frames[1].source, op="TensorScatterUpdate"),
        code="W301",
    )
    report = Report(
        "embed.py",
        (finding,),
        ("W001", "W301"),
        (
            Unchecked("W101", "killed-by-group-limit", ("kernel_log",)),
            Unchecked("W402", "library-pair", ("environment",)),
        ),
        {"recording": "20240917-090102-512"},
    )
    evidence = Evidence(
        program=program("python", "embed.py"),
        machine=machine(24 * GIB),
        samples=samples,
        events=(),
        stacks=(StackDump(6.4, 512, (main,), "beat"),),
        crash=Crash(
            512,
            11,
            0x7F3A00000010,
            1,
            frames,
            instruction=b"\xc5\xfe\x6f",
            python=StackDump(6.6, 512, (main,), "fatal"),
        ),
        errors=(),
        ending=Ending("signal", 6.6, signal=11, signal_name="SIGSEGV", core_dumped=False, same_boot=True),
        absent={
            "kernel_log": "permission denied; run as root or set kernel.dmesg_restrict=0",
            "environment": "the start-up hook did not run",
        },
    )
    return report, evidence


def shape_error() -> tuple[Report, Evidence]:
    source = "logits = tf.matmul(features, weights)"
    error = ErrorRecord(
        "tensorflow.python.framework.errors_impl.InvalidArgumentError",
        "{{function_node __wrapped__MatMul_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
        "Matrix size-incompatible: In[0]: [32,128], In[1]: [256,10] [Op:MatMul] name: ",
        (
            own(3, "<module>", source, "model.ipynb"),
            foreign(
                "tensorflow/python/util/traceback_utils.py",
                153,
                "error_handler",
                "raise e.with_traceback(filtered_tb) from None",
            ),
            foreign("tensorflow/python/framework/ops.py", 6027, "raise_from_not_ok_status"),
        ),
        chain=(ErrorRecord("KeyError", "'weights'", (own(9, "lookup", 'return cache["weights"]', "cache.py"),)),),
        line_number=42,
        origin="log",
    )
    finding = Finding(
        Cause.SHAPE_MISMATCH,
        "MatMul got shapes that do not fit: [32, 128] and [256, 10]",
        ("InvalidArgumentError in the output, line 42", "the inner sizes 128 and 256 differ"),
        ("give the first Dense layer 128 inputs, or feed features of size 256",),
        Confidence.CERTAIN,
        Where(f"{CWD}/model.ipynb", 3, "<module>", source, cell="7", op="MatMul"),
        code="W210",
    )
    report = Report(
        "model.ipynb", (finding,), ("W210",), (Unchecked("W101", "killed-by-group-limit", ("kernel_log", "ending")),)
    )
    lines = (LogLine(41, "Traceback (most recent call last):"), LogLine(42, error.message))
    return report, Evidence(errors=(error,), log=Log(lines))


def nothing() -> tuple[Report, Evidence]:
    evidence = Evidence(program=program(), samples=oom_samples(3), ending=Ending("exit", 31.0, exit_code=0))
    return Report("train.py", (), ("W001", "W101", "W210"), (Unchecked("W301", "native-crash", ("crash",)),)), evidence


def hostile() -> tuple[Report, Evidence]:
    """Everything that a program can put into a recording, and figures that are no figures."""
    bad: Any = None
    nan: Any = math.nan
    inf: Any = math.inf
    long = "A" * 1_000_000
    frame = Frame(HOSTILE, bad, HOSTILE, HOSTILE, own=True)
    stack = Stack(HOSTILE, (frame, Frame(long, 1, long, long)), main=True)
    finding = Finding(
        Cause.UNKNOWN,
        HOSTILE,
        (HOSTILE, long, "first\nsecond\r\nthird"),
        (HOSTILE,),
        Confidence.POSSIBLE,
        Where(HOSTILE, bad, HOSTILE, HOSTILE, HOSTILE, HOSTILE, nan),
        (HOSTILE, long),
        HOSTILE,
    )
    report = Report(
        HOSTILE, (finding,) * 6, (HOSTILE,), (Unchecked(HOSTILE, HOSTILE, (HOSTILE, "kernel_log")),),
        {"recording": HOSTILE, "schema": 99, "figure": nan, HOSTILE: b"\xff\x00"},
    )  # fmt: skip
    evidence = Evidence(
        program=Program((HOSTILE, long), HOSTILE, bad, nan, HOSTILE, hooked=bad),
        machine=Machine(
            HOSTILE, HOSTILE, HOSTILE, bad, HOSTILE, bad, nan, inf, HOSTILE,
            (MemoryLimit(HOSTILE, nan, HOSTILE), MemoryLimit("container", 10, HOSTILE)), {HOSTILE: nan, "as": bad},
        ),
        environment=Environment(
            HOSTILE, bad, {HOSTILE: HOSTILE, "n": bad}, {HOSTILE: long, "v": bad}, frozenset({HOSTILE}),
        ),
        samples=(
            Sample(nan, nan, inf, nan, nan), Sample(0.0, 100, nan, bad, inf), Sample(bad, 5), Sample(inf, 7),
            Sample(2.0, bad), Sample(1.0, 10**400, 50), Sample(3.0, 200, 900),
        ),
        events=(
            Event(nan, HOSTILE, HOSTILE), Event(1.0, HOSTILE, long, bad, {HOSTILE: object()}),
            Event(1e300, "x", HOSTILE),
        ),
        stacks=(StackDump(nan, bad, (stack,) * 80, HOSTILE), StackDump(1.0, bad, (), HOSTILE)) * 50,
        holders=(HolderNote(nan, bad, (Holder(HOSTILE, HOSTILE, nan, HOSTILE, HOSTILE, bad, HOSTILE),),
                 (PipelineNote(HOSTILE, (PipelineStage(HOSTILE, nan, nan),)),)),),
        errors=(
            ErrorRecord(
                HOSTILE, long, (frame,) * 5000, (HOSTILE,), HOSTILE, (ErrorRecord(HOSTILE, HOSTILE),), HOSTILE, nan,
            ),
        ) * 60,
        crash=Crash(
            bad, bad, bad, bad, (NativeFrame(HOSTILE, HOSTILE, bad), NativeFrame(long, bad, nan)), nan, HOSTILE,
            b"\x00\xff",
        ),
        log=Log((LogLine(bad, HOSTILE, HOSTILE), LogLine(2, long), LogLine(3, "10%\r50%\r100%\r\n")) * 700, nan),
        kernel_log=KernelLog((HOSTILE, long) * 300),
        gpus=(GpuDevice(bad, HOSTILE, nan, inf, HOSTILE, {bad: bad}),),
        disks=(Disk(HOSTILE, nan, bad, HOSTILE),),
        children=(ChildEnd(bad, HOSTILE, nan, nan),),
        ending=Ending(
            HOSTILE, nan, signal_name=HOSTILE, core_file=HOSTILE, oom_kills_group=nan, sent_by=HOSTILE,
            peak_rss_bytes=nan, survivors=(bad,),
        ),
        absent={HOSTILE: HOSTILE, "kernel_log": HOSTILE},
    )  # fmt: skip
    return report, evidence


EXAMPLES = {"oom": oom, "segfault": segfault, "shape_error": shape_error, "nothing": nothing, "hostile": hostile}
