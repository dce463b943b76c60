"""The models of models.tplan: sizes, microbatches, settings that make them small, and FLOPs of a token."""
import collections
import pathlib

PLANS = pathlib.Path(__file__).resolve().parent / "models.tplan"

# equal: the microbatch at which all are compared; sizes: those that are tried, the largest first.
# warm, timed: steps.
Model = collections.namedtuple("Model", "name V L D H G K F S batch equal sizes norm tied warm timed", defaults=(4, 10))
MODELS = {
    "llama": Model("llama", 32000, 22, 2048, 32, 4, 64, 5632, 4096, 16, 4, (16, 8, 4, 2, 1), "rms", False),
    "gpt2": Model("gpt2", 50257, 12, 768, 12, 12, 64, 3072, 1024, 64, 16, (64, 32, 16, 8, 4), "layer", True),
}
SMALL = dict(V=64, L=1, D=32, H=4, G=2, K=8, F=48, S=16, batch=4, equal=2, sizes=(4, 2), warm=2, timed=2)


def model_of(name, tiny):
    model = MODELS[name]
    return model._replace(**{**SMALL, "G": SMALL["G"] if model.G < model.H else SMALL["H"]}) if tiny else model


def settings(model, microbatch, tiny):
    """What is set of a plan."""
    chosen = {"plan.microbatch": f"{microbatch} sequences"}
    if tiny:
        names = "VLDHGKF" if model.name == "llama" else "VLDHKF"
        chosen |= {f"model.{name}": getattr(model, name) for name in names}
        chosen |= {"recipe.data": f'"tokens.u16", S = {model.S}', "recipe.batch": f"{model.batch} sequences"}
        chosen |= {"model.P": model.S} if model.name == "gpt2" else {}
    return [f"{name}={value}" for name, value in chosen.items()]


def matrices(model):
    """Parameters that a token is multiplied with."""
    gate = 1 if model.name == "llama" else 0
    block = model.D * model.K * 2 * (model.H + model.G) + (2 + gate) * model.D * model.F
    return model.L * block + model.V * model.D


def flops_per_token(model):
    """FLOPs of a training: six for each parameter of a matrix, and the causal half of the products of attention."""
    return 6 * matrices(model) + 6 * model.L * model.H * model.K * model.S
