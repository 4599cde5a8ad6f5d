"""Words that say nothing about what a question is after, by language."""

from __future__ import annotations

_ENGLISH = """
a about above after ago an and anything are as at be because been before being below between but by can could
did do does during earlier everything find for from get give had has have he help how i if in into is it just
later may me might my nothing now of on or our over please recently she should show something stuff tell that
the them then these they thing things this those through to today tomorrow under was we were what when where
which while who why will with would yesterday you your
"""

_SPANISH = """
a ahora antes ayer ayuda como con cuando cuándo cómo de del despues después donde dónde el ellas ellos en entre
es esa ese esta estar este favor fue fueron haber hacer hoy la las los mañana me mi nosotras nosotros o para
pero por porque porqué que qué recientemente ser si sobre son tener tu tus un una unas unos usted ustedes y yo
"""

_PORTUGUESE = """
a agora ajuda amanhã antes as com como da de depois do e ela elas ele eles em entre essa esse esta estar este eu
favor fazer foi foram hoje mas me meu minha nos nós o onde ontem os ou para por porque porquê quando que quê
recentemente se ser sobre são ter um uma umas uns você vocês é
"""

_ARABIC = """
أصبح أنا أو أين إلى ال الآن الى اليوم امس ب بالأمس بعد بل بين تكون تلك ثم ذلك ساعد صار على عن غدا فضلا في قبل ك
كان كانت كيف ل لكن لماذا ماذا متى مع ممكن من مؤخرا نحن هذا هذه هل هم هنا هناك هو هي و يكون يمكن
"""

_CHINESE = """
与 东西 为什么 也 了 事 事情 什么 今天 他 他们 以前 以后 会 但 但是 你 你们 做 再 刚才 到 去 又 可以 吗 吧 告诉
呀 呢 和 哪个 哪些 啊 啦 嘛 因为 在 地 多少 她 如果 它 帮 帮忙 得 怎么 想 或 我 我们 所以 才 找 把 明天 昨天 是
最近 有 来 现在 用 的 看 着 给 而 能 虽然 被 要 让 说 请 过 还 这 这个 这些 那 那个 那些 都 就 只 之前 之后
"""

_JAPANESE = """
あそこ あの ある あれ いつ いる から こと ここ この これ さっき した して しかし する そこ そして その それ ため だけ
です でも できる どう どこ どれ なぜ なる の また まで ます もの より 今 今日 何 前 後 明日 昨日 最近 誰
"""

_KOREAN = """
가 가다 같이 거 거기 것 곳 과 그 그것 그녀 그들 그래서 그러나 그러면 그런데 그리고 께 까지 나 나는 나를 나중 내가
내일 너 너무 누구 는 대로 더 도 되다 등 때 또 또는 로 를 마다 만 많이 매우 무엇 뭐 밖에 보다 부탁 부터 분 수
아까 아니다 아주 어디 어떤 어떻게 어제 언제 없다 에 에게 에서 여기 오늘 오다 와 왜 우리 으로 은 을 의 이 이것 이다
있다 잘 저 저것 저기 저희 전에 정말 제발 좀 주다 중 지금 처럼 최근 하다 하지만 한테
"""

KOREAN_PARTICLES = tuple(
    "같이 까지 대로 마다 밖에 보다 부터 에게 에서 으로 처럼 한테 가 과 는 도 로 를 만 와 은 을 의 이 에".split()
)
"""What Korean hangs on the end of a word; the long ones first, so that the first match is the longest."""

KOREAN_WORDS = frozenset(_KOREAN.split())
"""The Korean ones: a word of which only such a one and a particle is left says nothing."""

REFERENCE_WORDS = frozenset(
    f"{_ENGLISH} {_SPANISH} {_PORTUGUESE} {_ARABIC} {_CHINESE} {_JAPANESE} {_KOREAN}".split()
)
"""Words the reference drops from a conversational query; conformance pins them."""

FUNCTION_WORDS = frozenset(
    f"""{_CHINESE} {_JAPANESE} {_KOREAN}
    a about after again all also am an and any anyone anything are as at be because been before being but by can
    could did do does doing during each either else ever every for from had has have having he her hers herself
    him himself his how i if in into is it its itself just may me might mine must my myself neither no nor not of
    off on once one or other our ours ourselves out over own please shall she should so some someone something
    such than that the their theirs them themselves then there these they this those through to too under until
    up upon us very was we were what whatever when where whether which while who whom whose why will with within
    would you your yours yourself yourselves
    """.split()
)
"""Words that carry grammar and no subject, left out of a search for any word. Unlike the reference's list it
keeps what may well be the subject (`find`, `help`, `today`) and holds no word of one European language that is
a subject in another (`son`, `favor`)."""
