"""Writes the files beside it, without any library: 8 bytes of length, the header, the numbers.

The matrices are not square, so that one taken the wrong way round does not fit: d_model 3, 2 heads of width 2.
"""
import json
import struct


def bf16(x):
    return struct.pack('<f', x)[2:]  # exact for these numbers


PACK = {'F64': lambda x: struct.pack('<d', x), 'F32': lambda x: struct.pack('<f', x),
        'F16': lambda x: struct.pack('<e', x), 'BF16': bf16}


def write(name, tensors):
    header, data = {}, b''
    for key, (dtype, rows) in tensors.items():
        shape = [len(rows), len(rows[0])] if isinstance(rows[0], list) else [len(rows)]
        flat = [x for row in rows for x in row] if len(shape) == 2 else rows
        body = b''.join(PACK[dtype](x) for x in flat)
        header[key] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(header).encode()
    with open(name, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + data)


def turned(rows):
    return [list(column) for column in zip(*rows)]


# In columns, as qkv multiplies: 3 × 4, and 4 × 3 for the output.
W_Q = [[1, 0, 0.5, 0], [0, 1, 0, -1], [1, 1, 0, 2]]
W_K = [[0, 1, 1, 0], [1, 0, 0, 0.25], [0, 0, 1, 1]]
W_V = [[1, 2, 0, 0], [0, 0, 1, -1], [0.5, 0, 0, 1]]
W_O = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, -1]]
B_Q, B_K, B_V, B_O = [0, 1, 0, 0], [0, 0, 0, 0.5], [1, 0, 0, 0], [0, 0, 2]

linear = {}
for layer, dtype in ((0, 'F32'), (1, 'BF16')):
    at = f'model.layers.{layer}.self_attn.'
    for name, w, b in (('q_proj', W_Q, B_Q), ('k_proj', W_K, B_K), ('v_proj', W_V, B_V), ('o_proj', W_O, B_O)):
        if layer == 1:
            w = [[2 * x for x in row] for row in w]
        linear[at + name + '.weight'] = (dtype, turned(w))
        linear[at + name + '.bias'] = (dtype, b)
    linear[at + 'q_norm.weight'] = (dtype, [1, 1])
write('linear.safetensors', linear)

side_by_side = [q + k + v for q, k, v in zip(W_Q, W_K, W_V)]
write('gpt2.safetensors', {'h.0.attn.c_attn.weight': ('F16', side_by_side), 'h.0.attn.c_attn.bias': ('F16', B_Q + B_K + B_V),
                           'h.0.attn.c_proj.weight': ('F16', W_O), 'h.0.attn.c_proj.bias': ('F16', B_O)})
write('fused.safetensors', {'qkv.weight': ('F64', turned(side_by_side)), 'proj.weight': ('F64', turned(W_O))})
write('mha.safetensors', {'in_proj_weight': ('F32', turned(side_by_side)), 'in_proj_bias': ('F32', B_Q + B_K + B_V),
                          'out_proj.weight': ('F32', turned(W_O)), 'out_proj.bias': ('F32', B_O)})

# Four heads of width 1 share two heads of keys and values: 3 × 4, and 3 × 2 for K and V.
K2, V2 = [[0, 1], [1, 0], [0, 1]], [[1, 2], [0, 1], [0.5, 0]]
grouped = {f'{name}_proj.weight': ('F32', turned(w)) for name, w in (('q', W_Q), ('k', K2), ('v', V2), ('o', W_O))}
write('grouped.safetensors', grouped)
write('grouped-fused.safetensors', {'qkv_proj.weight': ('F32', turned([q + k + v for q, k, v in zip(W_Q, K2, V2)])),
                                    'o_proj.weight': ('F32', turned(W_O))})
