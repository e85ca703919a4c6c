/* The list of names: what isn't on it refuses the file. */
#include "formats/pickle_names.h"

#include "base/base.h"

static const struct al_pickle_name names[] = {
	{"collections", "OrderedDict", AL_MAKES_DICT, NULL},
	{"torch", "Size", AL_MAKES_TUPLE, NULL},
	{"torch._utils", "_rebuild_tensor_v2", AL_MAKES_TENSOR, NULL},
	{"torch._utils", "_rebuild_tensor", AL_MAKES_TENSOR, NULL},
	{"torch._utils", "_rebuild_tensor_v3", AL_MAKES_TENSOR_V3, NULL},
	{"torch._utils", "_rebuild_parameter", AL_MAKES_PARAMETER, NULL},
	{"torch._utils", "_rebuild_parameter_with_state", AL_MAKES_PARAMETER, NULL},
	{"torch", "FloatStorage", AL_MAKES_STORAGE, "F32"},
	{"torch", "DoubleStorage", AL_MAKES_STORAGE, "F64"},
	{"torch", "HalfStorage", AL_MAKES_STORAGE, "F16"},
	{"torch", "BFloat16Storage", AL_MAKES_STORAGE, "BF16"},
	{"torch", "LongStorage", AL_MAKES_STORAGE, "I64"},
	{"torch", "IntStorage", AL_MAKES_STORAGE, "I32"},
	{"torch", "ShortStorage", AL_MAKES_STORAGE, "I16"},
	{"torch", "CharStorage", AL_MAKES_STORAGE, "I8"},
	{"torch", "ByteStorage", AL_MAKES_STORAGE, "U8"},
	{"torch", "BoolStorage", AL_MAKES_STORAGE, "BOOL"},
	{"torch", "ComplexFloatStorage", AL_MAKES_STORAGE, "C64"},
	{"torch.storage", "UntypedStorage", AL_MAKES_STORAGE, NULL},
	{"torch", "UntypedStorage", AL_MAKES_STORAGE, NULL},
	{"torch", "float32", AL_IS_DTYPE, "F32"},
	{"torch", "float64", AL_IS_DTYPE, "F64"},
	{"torch", "float16", AL_IS_DTYPE, "F16"},
	{"torch", "bfloat16", AL_IS_DTYPE, "BF16"},
	{"torch", "int64", AL_IS_DTYPE, "I64"},
	{"torch", "int32", AL_IS_DTYPE, "I32"},
	{"torch", "int16", AL_IS_DTYPE, "I16"},
	{"torch", "int8", AL_IS_DTYPE, "I8"},
	{"torch", "uint8", AL_IS_DTYPE, "U8"},
	{"torch", "uint16", AL_IS_DTYPE, "U16"},
	{"torch", "uint32", AL_IS_DTYPE, "U32"},
	{"torch", "uint64", AL_IS_DTYPE, "U64"},
	{"torch", "bool", AL_IS_DTYPE, "BOOL"},
	{"torch", "float8_e4m3fn", AL_IS_DTYPE, "F8_E4M3"},
	{"torch", "float8_e5m2", AL_IS_DTYPE, "F8_E5M2"},
	/* additional data of a model: options, numbers of numpy */
	{"torch", "device", AL_MAKES_OTHER, NULL},
	{"argparse", "Namespace", AL_MAKES_OTHER, NULL},
	{"__builtin__", "set", AL_MAKES_OTHER, NULL},
	{"builtins", "set", AL_MAKES_OTHER, NULL},
	{"_codecs", "encode", AL_MAKES_OTHER, NULL},
	{"numpy", "dtype", AL_MAKES_OTHER, NULL},
	{"numpy", "ndarray", AL_MAKES_OTHER, NULL},
	{"numpy.core.multiarray", "scalar", AL_MAKES_OTHER, NULL},
	{"numpy._core.multiarray", "scalar", AL_MAKES_OTHER, NULL},
	{"numpy.core.multiarray", "_reconstruct", AL_MAKES_OTHER, NULL},
	{"numpy._core.multiarray", "_reconstruct", AL_MAKES_OTHER, NULL},
	{"torch._utils", "_rebuild_qtensor", AL_IS_REFUSED, "quantized tensors"},
	{"torch._utils", "_rebuild_sparse_tensor", AL_IS_REFUSED, "sparse tensors"},
	{"torch._utils", "_rebuild_device_tensor_from_numpy", AL_IS_REFUSED, "tensors of a device"},
};
enum { N_NAMES = sizeof(names) / sizeof(*names) };

const struct al_pickle_name *al_pickle_name_find(const char *module, const char *name)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (strcmp(names[i].module, module) == 0 && strcmp(names[i].name, name) == 0)
			return &names[i];
	return NULL;
}
