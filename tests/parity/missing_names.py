"""Names of PyTorch's modules that opweave does not have, and why; `docs/parity.md` shows them."""

from __future__ import annotations

_PASSING = "for PyTorch's own use, or of its documentation"
_OLD = "deprecated in PyTorch"
_MANY = "for several processes or devices"
_PIPES = "data pipes, which PyTorch develops no more"
_UNSTABLE = "new in PyTorch, where it may change"
_LUA = "of Lua's library, where the windows of neighbouring channels lose some on the way; use LocalResponseNorm"
_NOT_YET = "not written yet"

#: For each module, the names that are missing, by the reason.
MISSING: dict[str, dict[str, str]] = {
    "optim": {_PASSING: "swap_in_optimizer_params_and_state"},
    "optim.lr_scheduler": {},
    "optim.swa_utils": {},
    "nn": {
        _MANY: "DataParallel SyncBatchNorm",
        _LUA: "CrossMapLRN2d",
        _OLD: "Container NLLLoss2d",
        _PASSING: "factory_kwargs",
    },
    "nn.functional": {
        _PASSING: (
            "BroadcastingList1 BroadcastingList2 BroadcastingList3 Callable DType GRID_SAMPLE_INTERPOLATION_MODES "
            "GRID_SAMPLE_PADDING_MODES Optional TYPE_CHECKING assert_int_or_pair boolean_dispatch "
            "handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic "
            "reproducibility_notes sparse_support_notes tf32_notes"
        ),
        _UNSTABLE: "ScalingType SwizzleType grouped_mm scaled_grouped_mm scaled_mm",
    },
    "nn.attention": {
        _PASSING: "WARN_FOR_UNFUSED_KERNELS",
        _UNSTABLE: (
            "activate_flash_attention_impl current_flash_attention_impl list_flash_attention_impls "
            "register_flash_attention_impl restore_flash_attention_impl"
        ),
    },
    "nn.attention.flex_attention": {},
    "nn.utils": {},
    "nn.utils.prune": {_PASSING: "ABC abstractmethod"},
    "nn.utils.rnn": {},
    "nn.utils.parametrize": {},
    "nn.utils.parametrizations": {},
    "nn.init": {
        _OLD: (
            "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal "
            "xavier_uniform"
        ),
    },
    "utils.data": {
        _MANY: "DistributedSampler",
        _PIPES: (
            "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe "
            "guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled"
        ),
    },
    "func": {_NOT_YET: "rearrange", _PASSING: "debug_unwrap"},
    "autograd.forward_ad": {},
    "autograd.graph": {
        _UNSTABLE: (
            "region_activation_memory_budget set_override_stale_capture_stream "
            "set_warn_on_accumulate_grad_stream_mismatch"
        ),
    },
    "distributions": {},
    "linalg": {_PASSING: "common_notes"},
    "fft": {},
    "special": {},
}  # fmt: skip


def table() -> str:
    """The rows for the page."""
    rows = [
        f"| `{module}` | {', '.join(f'`{name}`' for name in names.split())} | {reason} |"
        for module, reasons in MISSING.items()
        for reason, names in reasons.items()
    ]
    return "\n".join(["| module | names that are missing | why |", "|---|---|---|", *rows])
