"""Words that say nothing about what a question is after, by language."""

from __future__ import annotations

import re
import unicodedata

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


def _words(*lists: str) -> frozenset[str]:
    """Return the words of some lists, each with and without its accents: people leave them out in questions."""
    words = {word for each in lists for word in each.split()}
    bare = {
        unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word))) for word in words
    }
    return frozenset(words | {word for word in bare if word.isascii()})


_ACCENTS = re.compile(
    "[\u0300-\u0304\u0306\u0307\u0309-\u0331]"
)  # the umlaut's dots stay: `über` isn't `uber`

WORDS_OF = {
    "en": frozenset(
        """
        a about after again all also am an and any anyone anything are as at be because been before being but by
        can could did do does doing during each either else ever every for from had has have having he her hers
        herself him himself his how i if in into is it its itself just may me might mine must my myself neither no
        nor not of off on once one or other our ours ourselves out over own please shall she should so some someone
        something such than that the their theirs them themselves then there these they this those through to too
        under until up upon us very was we were what whatever when where whether which while who whom whose why
        will with within would you your yours yourself yourselves
        """.split()
    ),
    "de": _words(
        """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da dabei
        dadurch dafür dagegen daher damit danach dann daran darauf daraus darin darüber darum das dass davon dazu
        dein deine deinem deinen deiner dem den denen denn der deren des dessen dich die dies diese diesem diesen
        dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwa etwas euch euer
        eure für fuer gegen gibt hab habe haben habt hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jene jener kann kannst kein keine keinem keinen
        keiner können koennen könnte machen man mein meine meinem meinen meiner mich mir mit muss müssen nach nicht
        noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so solche soll
        sollen sollte sondern um und uns unser unsere unserem unseren unserer unter über ueber vom von vor wann war
        waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder
        wieso will wir wird wo wobei wofür woher wohin womit worüber worum wurde wurden während würde zu zum zur
        zwischen
        """
    ),
    "fr": _words(
        """
        à afin ai alors après au aucun aucune aussi autre autres aux avait avant avec avez avions avoir avons c ce
        ceci cela celle celles celui cependant ces cet cette ceux chaque chez comme comment d dans de depuis des
        dont donc du elle elles en encore entre es est et étaient était étant été êtes être eu eux fait furent fut
        il ils j je jusque l la là laquelle le lequel les lesquels leur leurs lors lorsque lui m ma mais me même
        mêmes mes moi mon n ne ni nos notre nous nôtre on ont ou où par parce pas pendant peu peut pour pourquoi
        pouvez qu quand que quel quelle quelles quels qui quoi s sa sans se sera seront ses si soit sommes son sont
        sous suis sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
        """
    ),
    "es": _words(
        """
        a ahí al algo algún alguna algunas alguno algunos ante antes aquel aquella aquello aquí así aún aunque cada
        como cómo con contra cuál cuáles cualquier cuando cuándo cuánta cuánto cuántos de del desde después donde
        dónde dos durante e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está estaba
        están estar estas este esto estos estoy fue fueron fui ha había habían haber han hasta hay he hemos hizo la
        las le les lo los más me mi mí mientras mis mucho muy nada ni no nos nosotros nuestra nuestras nuestro
        nuestros o os otra otras otro otros para pero poco por porque pues qué que quién quien quiénes se sea según
        ser si sí sido sin sobre son soy su sus también tan tanto te tenía tengo tiene tienen tenemos ti todo todos
        tu tú tus un una unas uno unos usted ustedes ya y yo
        """
    ),
    "pt": _words(
        """
        a ainda além algo alguém algum alguma algumas alguns antes ao aos apenas após aquela aquele aquilo as às
        até cada com como contra da das de dela dele deles depois desde dessa desse desta deste do dos durante e é
        ela elas ele eles em entre era eram essa essas esse esses esta está estão estar estas estava este estes
        estou eu foi foram há isso isto já lá lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem
        nenhum nessa nesse nesta neste no nos nós nossa nossas nosso nossos num numa o onde os ou outra outras
        outro outros para pela pelas pelo pelos pode por porque porquê quais qual quando quanto quantos que quê
        quem se seja sem sempre ser seu seus só sobre sua suas também tão te tem têm temos tenho tinha todo todos
        tu tua tudo um uma umas uns você vocês
        """
    ),
    "it": _words(
        """
        a abbiamo ad adesso agli ai al alla alle allo anche ancora avere aveva aveva avevano c che chi ci ciò come
        con contro cosa così cui d da dai dal dalla dalle dallo degli dei del dell della delle dello dentro di dopo
        dov dove due e è ed era erano essere fa fino fra fu furono gli ha hai hanno ho i il in io l la le lei li lo
        loro lui ma me mentre mi mia mie miei mio molto ne negli nei nel nell nella nelle nello no noi non nostra
        nostre nostri nostro o ogni per perché però più poi prima può qual quale quali quando quanto quanti quello
        quella quelle quelli questa queste questi questo qui s sarà se sei senza si sia siamo siete solo sono sopra
        sotto sta stata state stati stato su sua sue sui sul sulla sulle suo suoi t ti tra tu tua tue tuo tuoi
        tutti tutto un una uno vi voi
        """
    ),
    "nl": _words(
        """
        aan al alle als ben bij daar dan dat de deze die dit doen door dus een en er ge geen haar had hebben heeft
        hem het hier hij hoe hun ik in is ja je jij jouw jullie kan konden maar me meer men met mij mijn moet na naar
        niet niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor
        waar waarom wanneer want waren was wat we welke werd wie wij worden wordt zal ze zei zelf zich zij zijn zo
        zonder zou
        """
    ),
    "sv": _words(
        """
        alla allt än är att av blev blir bli då de dem den denna dess dessa det detta dig din dina ditt du efter
        ej eller en er era ett från för ha hade han har henne hennes här honom hos hur i icke ingen inom inte jag
        kan kunde man med mellan men mig min mina mitt mot mycket någon något några när nu och om oss på samma sedan
        sig sin sina sitt själv ska skulle som så till under upp ut utan vad var vara varför varit vem vems vi vid
        vilken vilka vilket vår våra vårt över
        """
    ),
    "pl": _words(
        """
        aby albo ale ani bardzo bez bo był była było były być ci co czy dla dlaczego do gdy gdzie go i ich ile im
        inny ja jak jaka jaki jakie jako jego jej jest jestem jeszcze jeśli już każdy kiedy kim kto która które
        który ma mam mi mnie mój my na nad nam nas nasz nie nich nim niż o od on ona oni ono oraz po pod przed
        przez przy sam się są ta tak także tam te tego tej ten też to tu twój ty tych tylko tym u w więc wszystko
        z za ze że
        """
    ),
    "tr": _words(
        """
        ama ancak bana ben beni benim bir biz bize bizim bu bunlar bunu da daha de değil diye en gibi hangi hem
        her hiç için ile ise kadar kez ki kim mı mi mu mü nasıl ne neden nerede nereye niçin niye o olan olarak
        oldu olduğu onlar onu onun sana sen seni senin siz sizin şey şu tüm ve veya ya yani zaman
        """
    ),
    "ru": frozenset(
        """
        а без бы был была были было быть в вам вас весь во вот все всё всего вы где да даже для до его ее её если
        есть еще ещё же за зачем здесь и из или им их к как какая какие какой какую ко когда кого кому которая
        которого которое которой которые который которых кто ли между меня мне мной мог могли можно мой моя мы на
        над нам нами нас наш наша наше не него нее неё ней нет ни них но ну о об однако он она они оно от перед по
        под после потому почему при про с сам свой свою себя сейчас со так также такой там те тебя тем то тогда
        того тоже той только том тот ту ты у уже чего чей чем чём через что чтобы чтоб чьи эта эти это этого этой
        этом этот эту я
        """.split()
    ),
    "ar": frozenset(_ARABIC.split()),
    "el": frozenset(
        """
        αλλά αν από αυτά αυτή αυτό αυτός για δεν εγώ είναι εκεί εμείς ένα ένας εσύ η ήταν θα και κατά με μας μετά
        μη μια μου να ο οι όπως όταν ότι που πού πριν προς πως πώς σας σε στα στη στην στις στο στον στους τα τη
        την της τι τις το τον του τους των ως
        """.split()
    ),
}
"""Grammar words by language (ISO 639-1): articles, pronouns, prepositions, conjunctions, auxiliaries, words that
ask. Unlike the reference's list it keeps what may well be the subject (`find`, `help`, `today`). Words of one are
subjects in another (`die`, `son`, `war`), so `memd.text.language.stems` detects the language of a
query first."""

TELLING_WORDS = {
    "de": "wegen trotz statt mehr immer heute gestern morgen bitte danke termin wichtig neue erledigt besprechung",
    "fr": "aujourd hier demain merci bonjour rendez réunion projet nouvelle nouveau jour semaine",
    "es": "hoy ayer mañana gracias hola reunión semana día proyecto nuevo nueva año ahora",
    "pt": "hoje ontem amanhã obrigado obrigada reunião semana dia projeto novo nova ano agora",
    "it": "oggi ieri domani grazie ciao riunione settimana giorno progetto nuovo nuova anno",
    "nl": "vandaag gisteren morgen bedankt vergadering week nieuwe nieuw graag",
    "sv": "idag igår imorgon tack möte vecka nya nytt också",
    "pl": "dzisiaj dziś wczoraj jutro dziękuję proszę spotkanie tydzień nowy nowa",
    "tr": "bugün dün yarın teşekkürler lütfen toplantı hafta yeni",
}
"""Frequent words that tell a language and are no grammar: notes are short of grammar."""

CHINESE_GRAMMAR = frozenset(
    """
    与 么 也 了 他 们 但 你 係 們 又 只 吗 吧 呀 呢 咗 咩 哪 啊 啥 啦 喺 嗎 嘅 嘛 在 她 它 就 很 我 或 才 是
    的 誰 谁 这 這 那 麼 一下 一个 东西 为何 之前 之后 事情 什么 什麼 今天 他们 以前 以及 以后 但是 你们 关于
    几个 几位 几号 几天 几年 几时 几月 几次 几点 刚才 可以 告诉 咱们 哪个 哪些 哪位 哪個 哪儿 哪裏 哪裡 哪里
    因为 因此 多久 多大 多少 多远 多长 她们 如何 如果 它们 对于 已经 帮忙 并且 怎么 怎样 怎樣 怎麼 我们 或者
    所以 时候 明天 昨天 是否 最近 為何 然后 现在 甚麼 由于 而且 虽然 请问 还是 这个 这些 这样 这次 这边 这里
    這些 這個 這裡 那个 那些 那個 那样 那次 那边 那里 點樣 为什么 怎么样 怎麼樣 是不是 有没有 為什麼 能不能
    要不要 什么时候 可不可以
    """.split()
)
"""Chinese words dropped from a question, the longest first where several fit. One-character words that are part
of many others (会 in 会议) aren't here: without a dictionary nothing tells them apart."""

CHINESE_WHOLE = frozenset(
    """
    目的 的确 标的 的士 了解 了结 明了 为了 是非 在线 存在 在职 在场 在意 所在 内在 外在 潜在 在乎 自我 我国 其他 他人
    吉他 维他 那么 成就 就业 就职 就诊 就绪 首都 成都 都市 京都 目的地 也门 参与 与会 赠与 或许 又一 什么样 谁家 可是
    项目 题目 栏目 科目 数目 账目 节目
    標的 的確 瞭解 參與 就業 就緒
    """.split()
)
"""Words that hold a character of grammar and are none, and some whose end would make one with what follows
(项目的目的)."""

JAPANESE_GRAMMAR = frozenset(
    """
    か が で と に ね の は へ も や よ を 今 何 誰 あの ある あれ いた いつ いる おく かな かも から くる
    けど ここ こそ こと この これ しか した して する そこ その それ たい ため だけ だれ って です では でも
    とき とは どう どこ どれ ない なぜ など なに なる なん には のか のが ので のに のは のを ほど ます また
    まで もの より れる 今日 何か 何処 何故 何時 明日 昨日 最近 誰が あそこ あった いくつ いくら いつも いない
    います けれど させる さっき された されて される しかし したい します すべき すれば そして できる でした
    ですか という どちら どんな なった なんで ばかり ました ますか ません られる 下さい 教えて 見せて あります
    いました いますか ください していた している しました しますか でしょう といった どうして なかった
    なります について に関して ましたか ませんか 何だっけ 知りたい ありました ありますか しています でしょうか
    どうやって どのくらい どのように 思い出して 教えて下さい 教えてください
    """.split()
)
"""Japanese words dropped from a question. Hiragana between two words is most often made of them alone."""

KOREAN_GRAMMAR = frozenset(
    """
    거 것 곳 그 께 나 너 된 등 로 를 만 몇 뭐 뭘 에 와 왜 을 좀 줘 한 할 같이 거기 관한 관해 그것 그녀 그들
    그때 까지 나는 나를 나중 내가 너무 누가 누구 누굴 대로 대한 대해 되는 되다 또는 마다 많이 매우 무슨 무엇
    뭐가 뭐야 밖에 보다 부터 아까 아주 어느 어디 어떤 언제 얼마 없다 에게 에서 여기 예요 우리 위한 위해 으로
    이것 이다 있는 있다 있던 저것 저기 저는 저희 정말 제가 제발 주다 지금 처럼 최근 하기 하는 하다 하죠 한테
    했어 했지 관해서 그래서 그러나 그러면 그런데 그리고 누구의 대해서 되나요 때문에 말해줘 무엇을 무엇이
    뭐였지 아니다 알려줘 어디로 어디서 어디에 어떻게 어째서 얼마나 없나요 없어요 우리가 우리는 우리의 이에요
    인가요 입니까 있나요 있는지 있어요 주세요 하나요 하지만 했나요 했어요 어디에서 있습니까 있었나요 했습니까
    무엇인가요 알려주세요 오늘 어제 내일 오다 가다
    """.split()
)
"""Korean words dropped from a question when they stand alone."""

KOREAN_ENDINGS = tuple(
    """
    했습니까 했습니다 했었나요 했었는지 하겠습니다 하였습니다 하시나요 하셨나요 했더라 했나요 했어요 했는지
    했던 했지 했어 했다 했음 한다 하다 합니까 합니다 하나요 하는지 하는 하기 하고 하면 하려고 하려면 해야 해요
    해서 하자 하지 하던 한 할 함 됐습니까 됐습니다 됐나요 됐어요 됐는지 되었습니다 되었나요 되었는지 됩니까
    됩니다 되나요 되는지 되는 됐다 되었다 된다 되다 된 될 됨 이었습니다 이었나요 이었지 였습니다 였나요 였지
    입니까 입니다 인가요 이에요 예요 인지 일까요 였다 었다 았다 었습니까 었습니다 었나요 었어요 었는지 었던
    았습니까 았습니다 았나요 았어요 았는지 았던 나요 는지
    """.split()
)
"""What Korean hangs on a noun or stem to make it a verb of some tense and courtesy; the first that fits is the
longest of its kind."""

THAI_GRAMMAR = frozenset(
    """
    ที่ และ ของ ใน เป็น ได้ มี จะ ก็ ให้ กับ หรือ คือ อะไร ไหม มั้ย ครับ ค่ะ คะ นะ นี้ นั้น ทำไม อย่างไร ยังไง เมื่อไหร่
    เมื่อไร เมื่อ แล้ว ว่า ต้อง เรา ฉัน คุณ เขา มัน ซึ่ง โดย จาก ถึง แต่ เพราะ ถ้า อยู่ ไหน ที่ไหน ใคร เท่าไร เท่าไหร่ กี่
    เกี่ยวกับ สำหรับ ด้วย การ ความ
    """.split()
)
"""Thai words dropped from a question."""

FUNCTION_WORDS = WORDS_OF["en"] | frozenset(f"{_CHINESE} {_JAPANESE} {_KOREAN}".split())
"""Grammar of English, Chinese, Japanese and Korean: what a question of no recognisable language is freed from."""
