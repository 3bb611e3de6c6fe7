//! Texts that try to become script. Each that becomes an element carries `data-x`, each that runs sets `window.ran`.

/// What runs, if it runs.
const RUN: &str = "window.ran=1";

/// Ways to make something run.
const VECTORS: [&str; 44] = [
    "<script data-x>RUN</script>",
    "<script data-x src=//x.test/x.js></script>",
    "<SCRIPT data-x>RUN</SCRIPT>",
    "<scr<script>ipt data-x>RUN</scr</script>ipt>",
    "<img data-x src=x onerror=RUN>",
    "<img data-x src=x onerror=&#119;indow.ran=1>",
    "<img/data-x/src=x/onerror=RUN>",
    "<img data-x src=\"x` `<script>RUN</script>\"` `>",
    "<svg data-x onload=RUN>",
    "<svg data-x><script>RUN</script></svg>",
    "<svg data-x><animate onbegin=RUN attributeName=x dur=1s>",
    "<svg data-x><a xlink:href=\"javascript:RUN\"><text x=20 y=20>x</text></a></svg>",
    "<svg data-x><foreignObject><iframe srcdoc=\"&lt;script&gt;parent.ran=1&lt;/script&gt;\"></foreignObject></svg>",
    "<body data-x onload=RUN>",
    "<iframe data-x src=javascript:RUN></iframe>",
    "<iframe data-x srcdoc=\"<script>parent.ran=1</script>\"></iframe>",
    "<object data-x data=javascript:RUN></object>",
    "<embed data-x src=javascript:RUN>",
    "<a data-x href=javascript:RUN id=xclick>x</a>",
    "<a data-x href=\"java\tscript:RUN\">x</a>",
    "<a data-x href=\" &#14; javascript:RUN\">x</a>",
    "<a data-x href=data:text/html,<script>RUN</script>>x</a>",
    "<form data-x action=javascript:RUN><button>x</button></form>",
    "<button data-x form=x formaction=javascript:RUN>x</button>",
    "<input data-x autofocus onfocus=RUN>",
    "<select data-x autofocus onfocus=RUN>",
    "<textarea data-x autofocus onfocus=RUN>",
    "<keygen data-x autofocus onfocus=RUN>",
    "<video data-x><source onerror=RUN></video>",
    "<audio data-x src=x onerror=RUN>",
    "<details data-x open ontoggle=RUN>",
    "<marquee data-x onstart=RUN>",
    "<style data-x>@import'//x.test/x.css';</style>",
    "<link data-x rel=stylesheet href=//x.test/x.css>",
    "<meta data-x http-equiv=refresh content=\"0;url=javascript:RUN\">",
    "<base data-x href=//x.test/>",
    "<math data-x><mi//xlink:href=\"data:x,<script>RUN</script>\">",
    "<div data-x style=\"background:url(javascript:RUN)\">x</div>",
    "<div data-x onmouseover=RUN style=position:fixed;inset:0>x</div>",
    "<template data-x><script>RUN</script></template>",
    "<noscript data-x><p title=\"</noscript><img src=x onerror=RUN>\">",
    "<div data-x hx-get=/logout hx-trigger=load hx-vals=js:{x:RUN}>x</div>",
    "<div data-x hx-on:load=RUN hx-on::load=RUN>x</div>",
    "{{constructor.constructor('RUN')()}}",
];

/// Where a text may stand when it tries: in a text, in an attribute, in an element of its own.
const BREAKS: [&str; 6] =
    ["", "\">", "'>", "</title></textarea></style></script>", "-->", "\" data-x autofocus onfocus=RUN x=\""];

/// All of them.
pub(super) fn all() -> Vec<String> {
    let every = BREAKS.iter().flat_map(|start| VECTORS.iter().map(move |vector| format!("{start}{vector}")));
    every.map(|text| text.replace("RUN", RUN)).collect()
}
