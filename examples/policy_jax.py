"""The attention policy, its rollout and the cuts in JAX, for every system (a *task*) beside this file.

A cut is placed as a stop-gradient when a key and value are stored: FD stores constants, F_SG stores
projections of a constant, so nothing is projected twice. Where a loss may reach K steps through
states, the rollout is computed in K copies, as more rows: a copy takes its state from the copy before,
the first one a constant, the loss is the last one's, and memory stays within a copy.

Parts of a cut are looked up edge by edge; what an update draws is a table of shares.

A task has `rows`, `steps`, `prefix`, `window`, `heads`, `layers`, `embedding`; the `initial` state [row][column]
and its `parts`, columns by name;
`over_time`, arrays [step][row]...; `condition`, tokens [row][token][column], or None; and two functions,
`token(state, at)` and `step(state, output, at)`, the latter giving the next state and the cost of each row.
Where `over_time` has `given`, states at the steps with `is_given` come from there: teacher forcing.
"""
import jax
import jax.numpy as jnp

stop = jax.lax.stop_gradient


def linear(params, name, x):
    y = x @ params[f"{name}.weight"]
    return y + params[f"{name}.bias"][0] if f"{name}.bias" in params else y


def layer_norm(params, name, x):
    centred = x - x.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred * scale * params[f"{name}.gain"][0] + params[f"{name}.bias"][0]


def attend(q, k, v, visible):
    """q: [row][query][head][d]; k, v: [row][position][head][d]; visible: [position]."""
    scores = jnp.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), -1)
    read = jnp.einsum("bhij,bjhd->bihd", weights, v)
    return read.reshape(*read.shape[:2], -1)


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1)


def feed_forward(params, block, h):
    n = layer_norm(params, f"{block}.norm2", h)
    wide = jax.nn.gelu(linear(params, f"{block}.feed1", n), approximate=True)
    return h + linear(params, f"{block}.feed2", wide)


def embed(params, kind, token):
    """What the first block reads of a token, before its position is added."""
    if kind == "apg":  # 15 columns of the state, then reference points of 9 columns
        points = [jax.nn.relu(linear(params, "points", token[:, first:first + 27]))
                  for first in range(15, token.shape[-1] - 26, 9)]
        x = jnp.concatenate([jnp.tanh(linear(params, "embedding", token[:, :15])), *points], -1)
        for name in ("merge1", "merge2", "merge3"):
            x = jax.nn.relu(linear(params, name, x))
        return x
    x = linear(params, "embedding", token)
    if kind == "normalised":
        return layer_norm(params, "embedding_norm", x)
    return x * x.shape[-1] ** 0.5 if kind == "scaled" else x


def encode(params, task, tokens):
    """What the decoder's blocks read of the condition: a key and value for each of them."""
    h = linear(params, "tokens", tokens)
    for layer in range(task.layers):
        block = f"encoder{layer}"
        n = layer_norm(params, f"{block}.norm1", h)
        q, k, v = (split_heads(linear(params, f"{block}.set_{x}", n), task.heads) for x in "qkv")
        h = h + linear(params, f"{block}.set_o", attend(q, k, v, True))
        h = feed_forward(params, block, h)
    context = layer_norm(params, "context", h)
    return [[split_heads(linear(params, f"block{layer}.cross_{x}", context), task.heads) for x in "kv"]
            for layer in range(task.layers)]


def kept_sides(credit):
    """Later queries read what is stored from `far` across segments, from `near` within one."""
    if credit.factor:
        return "far", "near"
    return {None: ("near",), 1: ("far",)}.get(credit.segment, ("far", "near"))


def scaled(x, share):
    """The same numbers; a share of the derivative."""
    return stop(x) + share * (x - stop(x))


def remember(params, credit, task, cache, name, n, t):
    """The cache with this step's key or value in it, and what the query reads."""
    project = lambda x: split_heads(linear(params, name, x), task.heads)
    own = project(n)
    new = {"near": lambda: own,
           "far": lambda: stop(own) if credit.share is None
           else project(scaled(n, credit.share) if credit.share else stop(n))}
    cache = {side: cache[side].at[:, t].set(new[side]()) for side in kept_sides(credit)}
    if credit.factor:
        # Nothing of the value, and of the derivative what the stored representation is to receive.
        factor = lambda j, t: credit.factor(j - task.prefix, t - task.prefix) if task.prefix <= j < t else 1.0
        factors = jnp.array([[factor(j, t) for j in range(task.steps)] for t in range(task.steps)])
        passed = factors.astype(own.dtype)[t][:, None, None] * (cache["near"] - cache["far"])
        return cache, cache["far"] + passed
    positions = jnp.arange(task.steps)
    # Segments count from the first step after the prefix, which is constant whatever its segment.
    length = credit.segment or task.steps
    is_near = (positions - task.prefix) // length == (t - task.prefix) // length
    near = cache.get("near", own[:, None])
    return cache, jnp.where(is_near[:, None, None], near, cache.get("far", near))


def decode(params, cut, task, caches, context, token, t):
    """The policy's output and the caches after a step."""
    positions = jnp.arange(task.steps)
    visible = (positions <= t) & (positions > t - (task.window or task.steps))
    if cut.share("observation") is not None:
        token = scaled(token, cut.share("observation"))
    h = embed(params, task.embedding, token) + params["position"][t]
    after = []
    for layer, (keys, values) in enumerate(caches):
        block = f"block{layer}"
        n = layer_norm(params, f"{block}.norm1", h)
        of_keys, of_values = cut.memory(f"{block}.keys"), cut.memory(f"{block}.values")
        keys, k = remember(params, of_keys, task, keys, f"{block}.w_k", n, t)
        values, v = remember(params, of_values, task, values, f"{block}.w_v", n, t)
        after.append((keys, values))
        ask = lambda name, n: split_heads(linear(params, name, n), task.heads)[:, None]
        h = h + linear(params, f"{block}.w_o", attend(ask(f"{block}.w_q", n), k, v, visible)[:, 0])
        if context:
            q = ask(f"{block}.cross_q", layer_norm(params, f"{block}.norm3", h))
            h = h + linear(params, f"{block}.cross_o", attend(q, *context[layer], True)[:, 0])
        h = feed_forward(params, block, h)
    return linear(params, "head", layer_norm(params, "norm", h)), tuple(after)


def loss(params, task, cut):
    """Summed over rows and the steps after the prefix, and the loss of each row."""
    if getattr(task, "mixer", "attention") != "attention":
        raise SystemExit(f"policy_jax.py remembers by attention, not by {task.mixer}")
    copies = min(cut.depth or 1, task.steps)
    repeat = lambda x, axis=0: jnp.concatenate([x] * copies, axis)

    context = None if task.condition is None else encode(params, task, repeat(task.condition))

    def steps(params, context, carry, first, last):
        def step(carry, at):
            state, caches = carry
            t, at = at
            if "given" in at:
                state = jnp.where(at["is_given"], at["given"], state)
            output, caches = decode(params, cut, task, caches, context, task.token(state, at), t)
            moved, cost = task.step(state, output, at)
            handed = []
            for name, columns in task.parts.items():
                part, share = moved[:, columns], cut.share(f"state.{name}")
                # What a part of the cut keeps, it keeps without counting.
                if cut.depth and share != 1.0:
                    part = jnp.concatenate([stop(part[:task.rows]), part[:-task.rows]])
                handed.append(part if share is None else scaled(part, share))
            return (jnp.concatenate(handed, -1), caches), cost[-task.rows:]

        over_time = {name: repeat(x[first:last], 1) for name, x in task.over_time.items()}
        return jax.lax.scan(step, carry, (jnp.arange(first, last), over_time))

    width = params["position"].shape[-1]
    empty = jnp.zeros((copies * task.rows, task.steps, task.heads, width // task.heads),
                      task.initial.dtype)
    edge = lambda layer, side: {s: empty for s in kept_sides(cut.memory(f"block{layer}.{side}"))}
    caches = tuple((edge(layer, "keys"), edge(layer, "values")) for layer in range(task.layers))
    carry = (repeat(task.initial), caches)
    if task.prefix:
        carry, _ = stop(steps(stop(params), stop(context), carry, 0, task.prefix))
    _, costs = steps(params, context, carry, task.prefix, task.steps)
    return costs.sum(), costs.sum(0)
