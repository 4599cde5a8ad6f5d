"""Words that carry no meaning in a question. The English and Chinese lists cover OpenClaw's."""

from __future__ import annotations

ENGLISH = frozenset(
    """a an the this that these those i me my mine we us our ours you your yours he him his she her hers it
    its they them their theirs is are was were be been being am have has had having do does did doing
    done will would could should can may might must shall in on at to for of with by from about into
    through during before after above below between under over and or but if then than because as while
    when where what which who whom whose how why yesterday today tomorrow earlier later recently ago
    just now thing things stuff something anything everything nothing please help find show get tell
    give up so not no nor too very s t d ll m re ve don didn doesn isn wasn aren weren won wouldn couldn
    shouldn hasn haven hadn there here also any some""".split()
)

JAPANESE = frozenset(
    """これ それ あれ この その あの ここ そこ あそこ する した して です ます いる
    ある なる できる の こと もの ため そして しかし また でも から まで より
    だけ なぜ どう 何 いつ どこ 誰 どれ 昨日 今日 明日 最近 今 さっき 前 後""".split()
)

KOREAN = frozenset(
    """나 너 우리 저 그 이 저희 은 는 이 가 을 를 의 에 에서 로 으로 와 과 도
    만 까지 부터 한테 에게 무엇 뭐 어떤 어떻게 언제 어디 왜 누구 그것 이것 저것
    있다 없다 하다 되다 그리고 하지만 그래서 어제 오늘 내일 최근 지금 것 수 좀""".split()
)

CHINESE_CHARACTERS = frozenset(
    "我你他她它这那的了着过得地吗呢吧啊呀嘛啦是有在被把给让用到去来做说看找想要能会和与或但而也都就还又再才只事请帮前后"
)

PHRASES = frozenset(
    """我们 你们 他们 她们 它们 这个 那个 这些 那些 可以 但是 因为 所以 如果 虽然
    之前 以前 之后 以后 刚才 现在 昨天 今天 明天 最近 东西 事情 什么 哪个 哪些
    怎么 为什么 多少 帮忙 告诉""".split()
)

STOP_WORDS = ENGLISH | JAPANESE | KOREAN
