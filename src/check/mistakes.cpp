#include "check/mistakes.h"

#include <algorithm>

#include "plan/training.h"
#include "run/apply.h"
#include "run/proof.h"

namespace qkv {
namespace {

// The likeliest first where several give the same numbers.
const std::array kMistakes = std::to_array<Mistake>({
    {.id = "M01",
     .name = "other-layout",
     .nodes = {"Q", "K", "V", "Y"},
     .sentence = {"The projection uses the weight in the other layout.", "投影用错了权重的存放方式。"},
     .remedy = {"multiply by W itself if it is stored as columns, by its transpose if it is stored as "
                "nn.Linear does",
                "权重按列存放就乘 W 本身，按 nn.Linear 存放就乘它的转置"},
     .results = spoil::other_layout},
    {.id = "M03",
     .name = "bias",
     .nodes = {"Q", "K", "V", "Y"},
     .sentence = {"The bias is missing, or was added twice.", "偏置漏加了，或加了两次。"},
     .remedy = {"add it once to every row", "给每一行加一次"},
     .results = spoil::bias_forgotten_or_twice},
    {.id = "M51",
     .name = "split-without-transpose",
     .nodes = {"Q", "K", "V"},
     .sentence =
         {"The flat list of numbers was cut into heads: rows of this head hold pieces of several tokens.",
          "把摊平的一长串数直接切成了若干头：这个头的一行里混进了几个 token 的片段。"},
     .remedy = {"split the columns of every row: view, then transpose",
                "应按每行的列来切：先 view，再 transpose"},
     .results = spoil::split_flat},
    {.id = "M58",
     .name = "rotary-pairing",
     .nodes = {"Q.rotated", "K.rotated"},
     .sentence = {"The columns were paired the other way: neighbours (1, 2), (3, 4) are one convention, "
                  "halves (1, 1 + d/2) the other.",
                  "配对方式用成了另一种：相邻配对 (1, 2)、(3, 4) 是一种，前后半配对 (1, 1 + d/2) 是另一种。"},
     .remedy = {"`rope` in the problem says which columns turn together",
                "哪两列一起转，由题目中的 rope 决定"},
     .results = spoil::other_pairing},
    {.id = "M59",
     .name = "position-off-by-one",
     .nodes = {"Q.rotated", "K.rotated"},
     .sentence = {"The rotation belongs to the position one before or one after.", "旋转用的位置差了一。"},
     .remedy = {"the first token stands at position 0, a new one behind all cached keys",
                "第一个 token 的位置是 0，新的 token 排在所有缓存的键之后"},
     .results = spoil::position_off_by_one},
    {.id = "M61",
     .name = "rotation-sense",
     .nodes = {"Q.rotated", "K.rotated"},
     .sentence = {"The rotation goes the other way round, or was left out.", "旋转方向反了，或者没有旋转。"},
     .remedy = {"turn queries and keys alike: (a·cos − b·sin, a·sin + b·cos)",
                "查询和键都要转，而且方向相同：(a·cos − b·sin, a·sin + b·cos)"},
     .results = spoil::turned_back_or_not},
    {.id = "M60",
     .name = "rotary-frequency",
     .nodes = {"Q.rotated", "K.rotated"},
     .sentence = {"The pairs turn by other angles: the exponent is not −2i/d with i counted from 0.",
                  "各对的转角不对：指数不是从 i = 0 数起的 −2i/d。"},
     .remedy = {"pair i turns by position · base^(−2i/d), the first pair with i = 0",
                "第 i 对转过 位置 · base^(−2i/d)，第一对 i = 0"},
     .results = spoil::other_frequencies},
    {.id = "M04",
     .name = "q-k-swapped",
     .nodes = {"scores"},
     .sentence = {"This is the transpose of the scores: Q and K were exchanged.",
                  "这是分数表的转置：Q 和 K 弄反了。"},
     .remedy = {"row i holds the query i against every key", "第 i 行是第 i 个查询对所有键的分数"},
     .results = spoil::swapped_q_and_k},
    {.id = "M06",
     .name = "k-not-transposed",
     .nodes = {"scores"},
     .sentence = {"This is Q·K.", "你算的是 Q·K。"},
     .remedy = {"the scores are Q·Kᵀ: rows of Q against rows of K", "分数是 Q·Kᵀ：Q 的行与 K 的行做点积"},
     .results = spoil::k_not_transposed},
    {.id = "M07",
     .name = "element-wise",
     .nodes = {"scores"},
     .sentence = {"This is the element-wise product of Q and K.", "这是 Q 与 K 逐元素相乘。"},
     .remedy = {"a score is a dot product: multiply, then add up", "分数是点积：对应相乘再相加"},
     .results = spoil::element_wise},
    {.id = "M53",
     .name = "one-wide-head",
     .nodes = {"scores", "weights", "concat"},
     .sentence = {"This is one head of the whole width.", "这是一个占满全部宽度的头。"},
     .remedy = {"each head multiplies its own columns of Q and K, and has its own softmax",
                "每个头用自己那几列 Q 和 K，各做各的 softmax"},
     .results = spoil::one_wide_head},
    {.id = "M56",
     .name = "groups-tiled",
     .nodes = {"scores", "output", "concat"},
     .sentence = {"The query head read another group of keys and values: groups were counted 1 2 1 2.",
                  "这个查询头读错了组：组按 1 2 1 2 数了。"},
     .remedy = {"neighbouring heads share a group: 1 1 2 2", "相邻的头属于同一组：1 1 2 2"},
     .results = spoil::groups_tiled},
    {.id = "M70",
     .name = "half-overflow",
     .nodes = {"Q", "K", "V", "scores"},
     .sentence = {"A number beyond 65504 became infinite: it does not fit half precision.",
                  "超过 65504 的数变成了无穷大：半精度放不下它。"},
     .remedy = {"compute it with more digits", "用更高的精度计算"},
     .results = spoil::half_overflow},
    {.id = "M09",
     .name = "no-scale",
     .nodes = {"scaled", "weights"},
     .sentence = {"These numbers come from unscaled scores.", "这里用的是没有缩放的分数。"},
     .remedy = {"divide the scores by √d_k = √@d before the softmax",
                "softmax 之前要先把分数除以 √d_k = √@d"},
     .results = spoil::not_scaled},
    {.id = "M17",
     .name = "mask-unscaled",
     .nodes = {"masked"},
     .sentence = {"With the mask on, the unscaled scores were used.", "加掩码时用了没有缩放的分数。"},
     .remedy = {"divide the scores by √d_k = √@d before the softmax",
                "softmax 之前要先把分数除以 √d_k = √@d"},
     .results = spoil::mask_unscaled},
    {.id = "M10",
     .name = "root-of-d-model",
     .nodes = {"scaled", "weights"},
     .sentence = {"The scores were divided by the root of the width of X, or of all heads together.",
                  "分数除以了 X（或所有头合起来）的宽度的平方根。"},
     .remedy = {"use the width of a key vector, d_k = @d", "应当用键向量的维度 d_k = @d"},
     .results = spoil::by_root_of_model},
    {.id = "M11",
     .name = "divided-by-d-k",
     .nodes = {"scaled", "weights"},
     .sentence = {"The scores were divided by d_k = @d, or by its root twice.",
                  "分数除以了 d_k = @d，或者除了两次根号。"},
     .remedy = {"divide once, by √@d", "只除一次，除以 √@d"},
     .results = spoil::by_d_k},
    {.id = "M12",
     .name = "times-root",
     .nodes = {"scaled", "weights"},
     .sentence = {"The scores were multiplied by √d_k instead of divided.", "分数乘了 √d_k，应当是除以它。"},
     .remedy = {"divide by √@d", "除以 √@d"},
     .results = spoil::times_root},
    {.id = "M13",
     .name = "root-of-keys",
     .nodes = {"scaled", "weights"},
     .sentence = {"The scores were divided by the root of the number of keys, @m.",
                  "分数除以了键的个数 @m 的平方根。"},
     .remedy = {"use the width of a key vector, d_k = @d", "应当用键向量的维度 d_k = @d"},
     .results = spoil::by_root_of_keys},
    {.id = "M14",
     .name = "scale-after-softmax",
     .nodes = {"weights"},
     .sentence = {"The scale was applied after the softmax: every row sums to 1/√d_k.",
                  "缩放放到了 softmax 之后：每行之和是 1/√d_k。"},
     .remedy = {"divide the scores by √d_k = √@d before the softmax",
                "softmax 之前要先把分数除以 √d_k = √@d"},
     .results = spoil::scale_after_softmax},
    {.id = "M62",
     .name = "slope",
     .nodes = {"bias"},
     .sentence = {"The bias grows with the distance, or has the slope of the head before.",
                  "偏置随距离变大了，或者用了前一个头的斜率。"},
     .remedy = {"minus slope times distance, with the slope 2^(−8h/n) for head h = 1 … n",
                "应当是负的斜率乘距离；第 h 个头（h 从 1 数起）的斜率是 2^(−8h/n)"},
     .results = spoil::other_slope},
    {.id = "M16",
     .name = "bias-scaled",
     .nodes = {"masked", "weights"},
     .sentence = {"The bias was divided by √d_k too.", "偏置也被除以了 √d_k。"},
     .remedy = {"scale the scores first, then add the bias", "先缩放分数，再加偏置"},
     .results = spoil::bias_scaled},
    {.id = "M27",
     .name = "empty-row-filled",
     .nodes = {"weights"},
     .sentence = {"A query that sees no key still has weights: a finite number such as −10⁹ stood for −∞.",
                  "有的查询一个键也看不到，却仍有权重：用 −10⁹ 之类的有限数代替了 −∞。"},
     .remedy = {"such a row reads nothing: all its weights are 0", "这样的一行什么也不读：权重全为 0"},
     .results = spoil::empty_row_filled},
    {.id = "M29",
     .name = "masks-added",
     .nodes = {"weights"},
     .sentence =
         {"Two finite masks were added: where all keys are hidden, those hidden once beat those hidden "
          "twice.",
          "两个有限的掩码加在了一起：全被屏蔽的行里，被屏蔽一次的键胜过了被遮两次的。"},
     .remedy = {"a key is seen only where every mask allows it; a row without one reads nothing",
                "每个掩码都允许才看得见；一个键也看不到的行什么也不读"},
     .results = spoil::masks_added},
    {.id = "M30",
     .name = "empty-row-nan",
     .nodes = {"weights"},
     .sentence = {"A query that sees no key gave nan: 0 was divided by 0.",
                  "有的查询一个键也看不到，算出了 nan：0 除以了 0。"},
     .remedy = {"such a row reads nothing: all its weights are 0", "这样的一行什么也不读：权重全为 0"},
     .results = spoil::empty_row_nan},
    {.id = "M18",
     .name = "polarity",
     .nodes = {"masked", "weights"},
     .sentence = {"The mask is the wrong way round: what should be hidden is seen, and the reverse.",
                  "掩码弄反了：该屏蔽的看得见，该看见的被屏蔽。"},
     .remedy = {"hide the other cells", "把遮与不遮对调"},
     .results = spoil::polarity},
    {.id = "M19",
     .name = "mask-after-softmax",
     .nodes = {"weights"},
     .sentence = {"The mask was applied after the softmax: the rows sum to less than 1.",
                  "掩码放到了 softmax 之后：每行之和小于 1。"},
     .remedy = {"set the hidden scores to −∞ before the softmax", "softmax 之前把被屏蔽的分数设为 −∞"},
     .results = spoil::mask_after_softmax},
    {.id = "M69",
     .name = "cap-after-mask",
     .nodes = {"masked", "weights"},
     .sentence =
         {"The scores were capped after the mask: tanh turns −∞ into −1, and the hidden keys are back.",
          "先加了掩码再做 softcap：tanh 把 −∞ 变成 −1，被屏蔽的键又回来了。"},
     .remedy = {"cap the scores first, then mask", "先做 softcap，再加掩码"},
     .results = spoil::capped_after_mask},
    {.id = "M20",
     .name = "zero-for-infinity",
     .nodes = {"masked", "weights"},
     .sentence = {"The hidden scores were set to 0, so they still get weight e^0.",
                  "被屏蔽的分数设成了 0，仍会分到 e^0 的权重。"},
     .remedy = {"use −∞: e^(−∞) = 0", "应设为 −∞：e^(−∞) = 0"},
     .results = spoil::zero_for_infinity},
    {.id = "M21",
     .name = "ones-added",
     .nodes = {"masked", "weights"},
     .sentence = {"The 0/1 mask was added to the scores as it is.", "0/1 掩码被直接加到了分数上。"},
     .remedy = {"turn it into 0 and −∞ first", "先换成 0 和 −∞"},
     .results = spoil::ones_added},
    {.id = "M25",
     .name = "wrong-corner",
     .nodes = {"masked", "weights"},
     .sentence = {"The causal triangle starts in the other corner.", "因果三角形对齐到了另一个角。"},
     .remedy = {"`align` in the problem says where the first query stands among the keys",
                "第一个查询站在哪个键的位置，由题目中的 align 决定"},
     .results = spoil::wrong_corner},
    {.id = "M22",
     .name = "diagonal-hidden",
     .nodes = {"masked", "weights"},
     .sentence = {"The mask also hides each token from itself.", "掩码把每个 token 自己也屏蔽了。"},
     .remedy = {"a query sees the keys up to its own position, itself included",
                "每个查询看得到自己及之前的键，包含自己"},
     .results = spoil::diagonal_hidden},
    {.id = "M23",
     .name = "upside-down",
     .nodes = {"masked", "weights"},
     .sentence = {"The triangle is upside down: each token sees itself and what comes after.",
                  "三角形方向反了：每个 token 看到的是自己和后面的。"},
     .remedy = {"a query sees what comes before it", "每个查询应当看前面的键"},
     .results = spoil::upside_down},
    {.id = "M26",
     .name = "window-off-by-one",
     .nodes = {"masked", "weights"},
     .sentence = {"The window has one key more or less than stated.", "窗口比题目多（或少）一个键。"},
     .remedy = {"window:w counts the token itself", "window:w 把 token 自己也算在内"},
     .results = spoil::window_off_by_one},
    {.id = "S5",
     .name = "mask-ignored",
     .nodes = {"masked", "weights"},
     .sentence = {"The mask was not used.", "没有用掩码。"},
     .remedy = {"set the hidden scores to −∞ before the softmax", "softmax 之前把被屏蔽的分数设为 −∞"},
     .results = spoil::mask_ignored},
    {.id = "M24",
     .name = "mask-turned",
     .nodes = {"masked", "weights"},
     .sentence = {"Rows and columns of the mask are exchanged.", "掩码的行和列弄反了。"},
     .remedy = {"rows are queries, columns are keys", "行是查询，列是键"},
     .results = spoil::mask_transposed},
    {.id = "M28",
     .name = "finite-fill",
     .nodes = {"masked", "weights"},
     .sentence = {"A finite number stands where −∞ belongs.", "该用 −∞ 的地方用了一个有限的数。"},
     .remedy = {"hide a key with −∞: beside large scores, or in a row without any key, a finite number "
                "lets it back in",
                "用 −∞ 屏蔽键：分数很大，或一行里没有别的键时，有限的数会让它重新得到权重"},
     .results = spoil::finite_fill},
    {.id = "M54",
     .name = "mean-of-heads",
     .nodes = {"weights"},
     .sentence = {"This is the mean of the weights of all heads.", "这是各个头权重的平均值。"},
     .remedy = {"each head has weights of its own; a library's default may be to average them",
                "每个头有自己的权重；有的库默认返回平均值"},
     .results = spoil::mean_of_heads},
    {.id = "M32",
     .name = "column-softmax",
     .nodes = {"weights"},
     .sentence = {"The softmax ran down the columns: your columns sum to 1, your rows do not.",
                  "softmax 沿列做了：你的每列之和为 1，而每行不是。"},
     .remedy = {"each row by itself: a query shares its attention among the keys",
                "逐行做：每个查询把注意力分给各个键"},
     .results = spoil::by_column},
    {.id = "M33",
     .name = "softmax-over-all",
     .nodes = {"weights"},
     .sentence = {"The softmax ran over the whole table: all numbers together sum to 1.",
                  "softmax 对整张表做了：所有数加起来才等于 1。"},
     .remedy = {"each row by itself", "逐行归一化"},
     .results = spoil::over_all},
    {.id = "M34",
     .name = "all-ones",
     .nodes = {"weights"},
     .sentence = {"All weights are 1: each was divided by itself.", "权重全是 1：每个数除以了它自己。"},
     .remedy = {"divide by the sum of the row", "应除以整行的和"},
     .results = spoil::all_ones},
    {.id = "M35",
     .name = "no-exponential",
     .nodes = {"weights"},
     .sentence = {"Each score was divided by the sum of the scores.", "用分数直接除以了分数之和。"},
     .remedy = {"take e^score first", "先取 e^分数"},
     .results = spoil::plain_sum},
    {.id = "M36",
     .name = "not-divided",
     .nodes = {"weights"},
     .sentence = {"These are the exponentials.", "这些只是指数。"},
     .remedy = {"divide each by the sum of its row", "还要除以这一行的和"},
     .results = spoil::not_divided},
    {.id = "S6",
     .name = "divided-by-count",
     .nodes = {"weights"},
     .sentence = {"The exponentials were divided by the number of keys, @m.", "指数除以了键的个数 @m。"},
     .remedy = {"divide by the sum of the row", "应除以这一行的和"},
     .results = spoil::divided_by_count},
    {.id = "M37",
     .name = "other-base",
     .nodes = {"weights"},
     .sentence = {"The weights fit powers of 10 or of 2.", "这些权重像是用 10 或 2 的幂算的。"},
     .remedy = {"use powers of e = 2.71828…", "应当用 e = 2.71828… 的幂"},
     .results = spoil::other_base},
    {.id = "M38",
     .name = "wrong-sign",
     .nodes = {"weights"},
     .sentence = {"The exponent has the wrong sign: the smallest score gets the most weight.",
                  "指数的符号错了：最小的分数得到了最大的权重。"},
     .remedy = {"e^score, not e^(−score)", "是 e^分数，不是 e^(−分数)"},
     .results = spoil::wrong_sign},
    {.id = "M39",
     .name = "winner-takes-all",
     .nodes = {"weights"},
     .sentence = {"This is the argmax: the largest score takes all.",
                  "这是取最大值（argmax）：最大的分数独占了权重。"},
     .remedy = {"the softmax gives every key a share", "softmax 给每个键都分一份"},
     .results = spoil::winner_takes_all},
    {.id = "M40",
     .name = "softmax-twice",
     .nodes = {"weights"},
     .sentence = {"The softmax was done twice; the weights are too even.",
                  "softmax 做了两次，权重过于平均。"},
     .remedy = {"once is enough", "做一次就够了"},
     .results = spoil::twice},
    {.id = "M43",
     .name = "maximum-off-columns",
     .nodes = {"weights"},
     .sentence = {"The row maxima were taken off the columns.", "各行的最大值减到列上去了。"},
     .remedy = {"each row loses its own maximum", "每一行减去自己的最大值"},
     .results = spoil::maximum_off_columns},
    {.id = "M44",
     .name = "sums-across",
     .nodes = {"weights"},
     .sentence = {"Column j was divided by the sum of row j.", "第 j 列除以了第 j 行的和。"},
     .remedy = {"each row is divided by its own sum", "每一行除以自己的和"},
     .results = spoil::sums_across},
    {.id = "M42",
     .name = "sink-not-shifted",
     .nodes = {"weights"},
     .sentence = {"The maximum was taken off the scores, but not off the extra term of the denominator.",
                  "分数减去了最大值，分母里多加的那一项却没有减。"},
     .remedy = {"the extra term becomes e^(sink_logit − maximum)",
                "多加的那一项应变成 e^(sink_logit − 最大值)"},
     .results = spoil::sink_not_shifted},
    {.id = "M41",
     .name = "overflow",
     .nodes = {"weights"},
     .sentence = {"An exponential overflowed, and ∞/∞ is nan.", "指数溢出了，而 ∞/∞ 是 nan。"},
     .remedy = {"subtract the maximum of the row first; the weights are the same",
                "先减去这一行的最大值；权重不变"},
     .results = spoil::overflow},
    {.id = "M50",
     .name = "dropout",
     .nodes = {"weights"},
     .sentence = {"Some weights are 0 and the others all too large by one factor: dropout was on.",
                  "有的权重为 0，其余都大了同一个倍数：dropout 没有关。"},
     .remedy = {"switch it off (model.eval()): it belongs to training",
                "把它关掉（model.eval()）：它只在训练时用"},
     .results = spoil::dropout},
    {.id = "M66",
     .name = "empty-tile",
     .nodes = {"exp", "sum", "acc", "output"},
     .sentence = {"A tile that is all hidden gave nan: −∞ − (−∞) has no value.",
                  "全被屏蔽的一块算出了 nan：−∞ − (−∞) 没有意义。"},
     .remedy = {"where nothing has been seen yet, rescale by 0", "还没有看到任何键时，缩放系数取 0"},
     .results = spoil::empty_tile},
    {.id = "M64",
     .name = "accumulator-not-rescaled",
     .nodes = {"acc"},
     .sentence = {"The accumulator so far was not rescaled when the maximum grew.",
                  "最大值变大时，之前的累加结果没有缩放。"},
     .remedy = {"multiply it by e^(old maximum − new maximum), as the sum",
                "和累积的和一样，要先乘 e^(旧最大值 − 新最大值)"},
     .results = spoil::accumulator_not_rescaled},
    {.id = "M63",
     .name = "sum-not-rescaled",
     .nodes = {"sum", "acc"},
     .sentence = {"The sum so far was not rescaled when the maximum grew.",
                  "最大值变大时，之前的和没有缩放。"},
     .remedy = {"multiply it by e^(old maximum − new maximum) first", "要先乘 e^(旧最大值 − 新最大值)"},
     .results = spoil::sum_not_rescaled},
    {.id = "M65",
     .name = "final-division",
     .nodes = {"output"},
     .sentence = {"The accumulator was not divided by the sum.", "累加结果没有除以和。"},
     .remedy = {"divide once, at the very end", "最后要除一次"},
     .results = spoil::division_left_out},
    {.id = "M05",
     .name = "not-v",
     .nodes = {"output"},
     .sentence = {"The weights were applied to another matrix than V.", "权重乘的不是 V。"},
     .remedy = {"output = weights · V", "output = weights · V"},
     .results = spoil::of_something_else},
    {.id = "M45",
     .name = "weights-transposed",
     .nodes = {"output"},
     .sentence = {"This is weightsᵀ·V: the sum runs over the queries.",
                  "这是 weightsᵀ·V：沿查询方向求和了。"},
     .remedy = {"row i of the output uses row i of the weights", "输出的第 i 行用权重的第 i 行"},
     .results = spoil::weights_transposed},
    {.id = "M46",
     .name = "v-inside-softmax",
     .nodes = {"output"},
     .sentence = {"V was multiplied inside the softmax: your rows sum to 1.",
                  "V 乘到 softmax 里面去了：你的每行之和为 1。"},
     .remedy = {"first the softmax, then times V", "先做 softmax，再乘 V"},
     .results = spoil::softmax_outside},
    {.id = "S7",
     .name = "plain-mean",
     .nodes = {"output"},
     .sentence = {"This is the plain mean of the values.", "这是各个值的简单平均。"},
     .remedy = {"use the weights", "应当用权重加权"},
     .results = spoil::plain_mean},
    {.id = "S8",
     .name = "scores-times-v",
     .nodes = {"output"},
     .sentence = {"The scores were multiplied by V, without a softmax.",
                  "用分数直接乘了 V，没有做 softmax。"},
     .remedy = {"output = weights · V", "output = weights · V"},
     .results = spoil::scores_times_v},
    {.id = "M68",
     .name = "no-denominator",
     .nodes = {"output"},
     .sentence = {"φ(q)·S was not divided by its denominator, or multiplied by it.",
                  "φ(q)·S 没有除以分母，或者乘了分母。"},
     .remedy = {"divide by φ(q) times the sum of φ(k)", "还要除以 φ(q) 与 Σφ(k) 的内积"},
     .results = spoil::without_denominator},
    {.id = "M52",
     .name = "joined-without-transpose",
     .nodes = {"concat"},
     .sentence = {"The right numbers stand in the wrong places: the heads were written one after the other "
                  "and cut into rows.",
                  "数都对，位置不对：各个头的数首尾相接，再切成了行。"},
     .remedy = {"put the heads of one token side by side: transpose back, then view",
                "同一个 token 在各个头的结果并排放：先 transpose 回来，再 view"},
     .results = spoil::joined_flat},
    {.id = "M55",
     .name = "no-output-projection",
     .nodes = {"Y"},
     .sentence = {"The output projection was left out.", "漏了输出投影。"},
     .remedy = {"multiply by W_O", "还要乘以 W_O"},
     .results = spoil::projection_left_out},
    {.id = "S3",
     .name = "two-swapped",
     .nodes = {},
     .sentence = {"Two numbers have changed places.", "有两个数的位置写反了。"},
     .remedy = {"put them back", "把它们换回来"},
     .results = spoil::two_cells_swapped},
    {.id = "S4",
     .name = "copied-row",
     .nodes = {},
     .sentence = {"One row is a copy of another.", "有一行抄成了另一行。"},
     .remedy = {"compute that row again", "重新计算那一行"},
     .results = spoil::copied_row},
    {.id = "S2",
     .name = "transposed",
     .nodes = {},
     .sentence = {"Rows and columns are exchanged.", "行和列弄反了。"},
     .remedy = {"row i belongs to token i", "第 i 行对应第 i 个 token"},
     .results = spoil::rows_and_columns_swapped},
    {.id = "S9",
     .name = "signs",
     .nodes = {},
     .sentence = {"All signs are wrong.", "所有的正负号都反了。"},
     .remedy = {"change them", "把符号改过来"},
     .results = spoil::all_signs},
    {.id = "M47",
     .name = "outside-the-values",
     .nodes = {},
     .sentence =
         {"A number lies outside its column of V: no weighted average can be smaller than the least or "
          "larger than the largest value.",
          "有的数超出了 V 那一列的范围：加权平均不会小于最小值，也不会大于最大值。"},
     .remedy = {"multiply each value by its weight, then add up", "每个值乘上它的权重，再相加"},
     .results = spoil::outside_the_values},
    {.id = "M08",
     .name = "one-cell",
     .nodes = {},
     .sentence = {"Only one number is off; the rest of the step is right.",
                  "只有一个数不对，这一步的其余部分都对。"},
     .remedy = {"compute that cell again", "重新计算那个单元格"},
     .results = spoil::one_cell,
     .is_of_one_cell = true},
});

// A mistake has to explain every cell, so that its image may be wide where its numbers are large: e^9 has
// more digits than were known of the 9.
bool explains(const Written& written, const Interval& image) {
  if (follows(written, image)) return true;
  if (!meets(written.range, image)) return false;
  const Interval size = abs(written.range);
  const Interval width = Interval(upper(image)) - Interval(lower(image));
  return certainly_exceeds(size, Interval(width * 50));
}

bool fits(const Sheet& sheet, const IntervalMatrix& result, const Given& given,
          const MatrixOf<Verdict>& cells, bool is_lenient) {
  if (result.rows() != given.rows || result.cols() != given.cols) return false;
  for (Index i = 0; i < given.rows; ++i) {
    for (Index j = 0; j < given.cols; ++j) {
      if (cells(i, j) == Verdict::blank) continue;
      const Written written = sheet.written(given.at(i, j));
      if (is_lenient ? !explains(written, result(i, j)) : !follows(written, result(i, j))) return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Mistake> mistakes() { return kMistakes; }

std::vector<NodeId> nodes_spoiled(const Mistake& mistake, const Plan& plan) {
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    // Not d.Y for Y: going back, other mistakes are made.
    const std::string step = name_in_every_head(plan[id]);
    const auto is_named = [&](std::string_view name) { return name == step; };
    const bool is_spoiled = std::any_of(mistake.nodes.begin(), mistake.nodes.end(), is_named);
    if (is_spoiled && !is_given(plan[id]) && plan[id].role == Role::step) nodes.push_back(id);
  }
  return nodes;
}

namespace {

// What stands elsewhere on a sheet when the mistake is made before, or at, a step that is answered.
std::vector<Sheet::Changes> ways_to_make(const Mistake& mistake, const Sheet& sheet, NodeId target,
                                         Chain chain) {
  const Plan& plan = sheet.plan();
  std::vector<Sheet::Changes> ways;
  // Who makes a mistake makes it in every head, pass and projection; the same place in the lists of results
  // is the same way to make it.
  std::vector<Sheet::Changes> habits;
  for (const NodeId node : mistake.is_slip() ? std::vector{target} : nodes_spoiled(mistake, plan)) {
    // An earlier step that was answered has been judged there.
    if (node > target || (node != target && sheet.answer(node) != nullptr)) continue;
    const spoil::Results results = mistake.results({sheet, node, chain});
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (Shape{results[i].rows(), results[i].cols()} != plan[node].shape) continue;
      ways.push_back({{node, results[i]}});
      // What is computed from a changed step is for each way to say.
      if (node == target) continue;
      habits.resize(std::max(habits.size(), i + 1));
      habits[i].emplace(node, results[i]);
    }
  }
  std::copy_if(habits.begin(), habits.end(), std::back_inserter(ways),
               [](const Sheet::Changes& changes) { return changes.size() > 1; });
  return ways;
}

}  // namespace

std::vector<const Mistake*> mistakes_behind(const Sheet& sheet, NodeId target,
                                            const MatrixOf<Verdict>& cells) {
  const PrecisionScope precision(Proof::kFirstPrecision);
  const Given& given = *sheet.answer(target);
  // Not where wide images would explain the numbers without any mistake.
  const bool is_lenient = !fits(sheet, sheet.image(target, Chain::theirs), given, cells, true);
  // Where values are large, the ranges of what was written say nothing; the written numbers themselves, or
  // all the digits behind them, may still give just these.
  const auto is_made_on = [&](const Mistake& mistake, Chain chain) {
    const std::vector<Sheet::Changes> ways = ways_to_make(mistake, sheet, target, chain);
    return std::any_of(ways.begin(), ways.end(), [&](const Sheet::Changes& changes) {
      return fits(sheet, sheet.image(target, chain, changes), given, cells,
                  is_lenient && chain == Chain::theirs);
    });
  };
  constexpr std::array kTried{Chain::theirs, Chain::literal, Chain::continued};
  std::vector<const Mistake*> found;
  for (const Chain chain : kTried) {
    for (const Mistake& mistake : kMistakes) {
      const bool is_known = std::any_of(found.begin(), found.end(), [&](const Mistake* m) {
        return std::string_view(m->id) == mistake.id;
      });
      if (!mistake.is_slip() && !is_known && is_made_on(mistake, chain)) found.push_back(&mistake);
    }
    if (!found.empty()) return found;
  }
  // A slip that fits anything tells something only when nothing else does.
  const bool is_one_cell = (cells.array() == Verdict::wrong).count() == 1;
  for (const Mistake& mistake : kMistakes) {
    if (!mistake.is_slip() || (mistake.is_of_one_cell && !is_one_cell)) continue;
    if (std::any_of(kTried.begin(), kTried.end(), [&](Chain chain) { return is_made_on(mistake, chain); }))
      return {&mistake};
  }
  return {};
}

}  // namespace qkv
