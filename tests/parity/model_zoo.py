"""Models as people write them for PyTorch; `test_module_models.py` runs them with this import replaced."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- GPT -----------------------------------------------------------------------------------------------------------


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.0)
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = self.dropout(F.softmax(att, dim=-1)) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, length)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(width, 2 * width), "act": nn.GELU(), "c_proj": nn.Linear(2 * width, width)}
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        m = self.mlp
        return x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab=17, width=16, heads=2, length=8, layers=1):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab, width),
                "wpe": nn.Embedding(length, width),
                "h": nn.ModuleList([Block(width, heads, length) for _ in range(layers)]),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.1)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))

    def loss(self, idx, targets):
        logits = self(idx)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


# ---- a model like Llama --------------------------------------------------------------------------------------------


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, width // heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)
        self.gate_proj = nn.Linear(width, 2 * width, bias=False)
        self.up_proj = nn.Linear(width, 2 * width, bias=False)
        self.down_proj = nn.Linear(2 * width, width, bias=False)
        self.input_layernorm = nn.RMSNorm(width, eps=1e-6)
        self.post_attention_layernorm = nn.RMSNorm(width, eps=1e-6)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        h = self.input_layernorm(x)
        q = self.q_proj(h).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(h).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(h).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = (u.repeat_interleave(self.heads // self.kv_heads, dim=1) for u in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o_proj(y.transpose(1, 2).reshape(b, t, -1))
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Llama(nn.Module):
    def __init__(self, vocab=17, width=16, heads=4, kv_heads=2, layers=1, length=8):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, kv_heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        dim = width // heads
        inv_freq = 1.0 / (10000.0 ** (torch.arange(0, dim, 2).double() / dim))
        freqs = torch.outer(torch.arange(length).double(), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        self.register_buffer("cos", emb.cos().float(), persistent=False)
        self.register_buffer("sin", emb.sin().float(), persistent=False)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, self.cos[: ids.shape[1]], self.sin[: ids.shape[1]])
        return self.lm_head(self.norm(x))

    def loss(self, ids, targets):
        return F.cross_entropy(self(ids).flatten(0, 1), targets.flatten())


# ---- a model like BERT ---------------------------------------------------------------------------------------------


class Bert(nn.Module):
    def __init__(self, vocab=17, width=16, heads=2, length=8, layers=1, classes=3):
        super().__init__()
        self.word = nn.Embedding(vocab, width, padding_idx=0)
        self.position = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pooler = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.classifier = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.norm(self.word(ids) + self.position(torch.arange(ids.shape[1])))
        x = self.encoder(x, src_key_padding_mask=ids == 0)
        return self.classifier(self.pooler(x[:, 0]))

    def loss(self, ids, targets):
        return F.cross_entropy(self(ids), targets, label_smoothing=0.1)


# ---- ResNet-18, narrow ---------------------------------------------------------------------------------------------


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes * self.expansion:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, blocks=(2, 2, 2, 2), width=4, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        planes = width
        for i, count in enumerate(blocks):
            out = width * 2**i
            layers = [BasicBlock(planes, out, 1 if i == 0 else 2)]
            layers += [BasicBlock(out, out) for _ in range(1, count)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*layers))
            planes = out
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(planes, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def loss(self, x, targets):
        return F.cross_entropy(self(x), targets)


# ---- U-Net ---------------------------------------------------------------------------------------------------------


class DoubleConv(nn.Sequential):
    def __init__(self, channels, out):
        super().__init__(
            nn.Conv2d(channels, out, 3, padding=1), nn.GroupNorm(2, out), nn.SiLU(),
            nn.Conv2d(out, out, 3, padding=1), nn.GroupNorm(2, out), nn.SiLU(),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.inc, self.down1, self.down2 = (
            DoubleConv(1, width),
            DoubleConv(width, 2 * width),
            DoubleConv(2 * width, 2 * width),
        )
        self.pool = nn.MaxPool2d(2)
        self.up1 = nn.ConvTranspose2d(2 * width, 2 * width, 2, stride=2)
        self.conv1 = DoubleConv(4 * width, width)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv2 = DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x3 = self.down2(self.pool(x2))
        x = self.conv1(torch.cat([x2, self.up1(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up2(x)], dim=1))
        return self.outc(x)

    def loss(self, x, mask):
        return nn.BCEWithLogitsLoss()(self(x), mask)


# ---- a variational autoencoder -------------------------------------------------------------------------------------


class VAE(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2), nn.Flatten(),
        )  # fmt: skip
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 32), nn.Unflatten(1, (8, 2, 2)), nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1),
            nn.ReLU(), nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x, noise):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(mu + noise * torch.exp(0.5 * logvar)), mu, logvar

    def loss(self, x, noise):
        made, mu, logvar = self(x, noise)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return F.binary_cross_entropy(made, x, reduction="sum") / x.size(0) + kl / x.size(0)


# ---- an LSTM -------------------------------------------------------------------------------------------------------


class Tagger(nn.Module):
    def __init__(self, vocab=17, width=8, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, tags)

    def forward(self, ids):
        out, (hidden, _) = self.lstm(self.embed(ids))
        return self.head(out) + hidden.mean()

    def loss(self, ids, tags):
        return F.nll_loss(F.log_softmax(self(ids), -1).transpose(1, 2), tags)


# ---- layers of products ------------------------------------------------------------------------------------------


class MLP(nn.Module):
    def __init__(self, features=6, width=16, classes=5):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)
        )

    def forward(self, x):
        return self.layers(x)

    def loss(self, x, labels):
        return F.cross_entropy(self(x), labels)


# ---- a graph network -----------------------------------------------------------------------------------------------


class GraphLayer(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.message = nn.Linear(2 * width, out)
        self.update = nn.GRUCell(out, out)
        self.skip = nn.Linear(width, out) if width != out else nn.Identity()

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        m = F.elu(self.message(torch.cat([x[source], x[target]], -1)))
        total = torch.zeros(x.shape[0], m.shape[1], dtype=m.dtype).index_add(0, target, m)
        ones = torch.ones(target.shape[0], dtype=m.dtype)
        degree = torch.zeros(x.shape[0], dtype=m.dtype).index_add(0, target, ones).clamp(min=1)
        return self.update(total / degree.unsqueeze(-1), self.skip(x))


class GraphNet(nn.Module):
    def __init__(self, features=5, width=8, classes=3):
        super().__init__()
        self.convs = nn.ModuleList([GraphLayer(features, width), GraphLayer(width, width)])
        self.out = nn.ParameterDict({"w": nn.Parameter(torch.randn(width, classes) * 0.3)})

    def forward(self, x, edges):
        for conv in self.convs:
            x = conv(x, edges)
        return x @ self.out["w"]

    def loss(self, x, edges, targets):
        return F.cross_entropy(self(x, edges), targets)


# ---- a vision transformer ------------------------------------------------------------------------------------------


class ViT(nn.Module):
    def __init__(self, image=8, patch=4, width=16, heads=2, layers=1, classes=5):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(torch.empty(1, (image // patch) ** 2 + 1, width).normal_(std=0.02))
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(
                nn.ModuleDict(
                    {
                        "ln_1": nn.LayerNorm(width, eps=1e-6),
                        "self_attention": nn.MultiheadAttention(width, heads, batch_first=True),
                        "ln_2": nn.LayerNorm(width, eps=1e-6),
                        "mlp": nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)),
                    }
                )
            )
        self.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.Linear(width, classes)

    def forward(self, x):
        n = x.shape[0]
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(n, -1, -1), x], dim=1) + self.pos_embedding
        for layer in self.layers:
            y = layer["ln_1"](x)
            y, _ = layer["self_attention"](y, y, y, need_weights=False)
            x = x + y
            x = x + layer["mlp"](layer["ln_2"](x))
        return self.heads(self.ln(x)[:, 0])

    def loss(self, x, targets):
        return F.cross_entropy(self(x), targets)


# ---- a step of diffusion -------------------------------------------------------------------------------------------


class TimeBlock(nn.Module):
    def __init__(self, channels, out, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(2, channels), nn.Conv2d(channels, out, 3, padding=1)
        self.emb = nn.Linear(time, 2 * out)
        self.norm2, self.conv2 = nn.GroupNorm(2, out), nn.Conv2d(out, out, 3, padding=1)
        self.skip = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.emb(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift))
        return self.skip(x) + h


class Diffusion(nn.Module):
    def __init__(self, width=4, time=8, steps=10):
        super().__init__()
        self.time = time
        self.time_embed = nn.Sequential(nn.Linear(time, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.down = TimeBlock(width, 2 * width, time)
        self.up = TimeBlock(3 * width, width, time)
        self.last = nn.Conv2d(width, 1, 3, padding=1)
        betas = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("alphas_cumprod", torch.cumprod(1.0 - betas, dim=0))

    def forward(self, x, t):
        half = self.time // 2
        freqs = torch.exp(-math.log(1000.0) * torch.arange(half, dtype=torch.float32) / half)
        args = t[:, None].float() * freqs[None]
        emb = self.time_embed(torch.cat([torch.cos(args), torch.sin(args)], dim=-1).to(x.dtype))
        x = self.first(x)
        h = self.down(F.avg_pool2d(x, 2), emb)
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        return self.last(self.up(torch.cat([x, h], 1), emb))

    def loss(self, x, t, noise):
        a = self.alphas_cumprod[t][:, None, None, None]
        return F.mse_loss(self(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
