"""Words by which a message tells something to remember, in the languages users write in.

Data. Each row is a pattern over folded text (`fold`): small letters, without accents on Latin and Cyrillic ones, so
that whoever types without them is understood too. Patterns are folded with the text's own rule, hence they hold no
classes in capital letters. Scripts without spaces have no word boundaries.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_ACCENTS = re.compile("[\u0300-\u036f]")

REMEMBER = (
    r"(?<!do you )(?<!n't )(?<!not )(?<!cannot )\bremember\b|\bkeep in mind\b|\b(?:make|take) a note\b",
    r"\bmerke? dir\b|\bmerken sie sich\b|\bdenke? daran\b|\bbehalte? im (?:kopf|gedächtnis)\b",
    r"\b(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|retiens|retenez|notez? que)\b",
    r"\b(?:recuerda|recuerde|recordad|acuérdate|acuérdese|ten en cuenta|anota que)\b",
    r"\b(?:ricorda|ricordati|ricordate|ricordatevi|tieni (?:a mente|presente)|segnati)\b",
    r"\b(?:lembra-te|lembre-se|lembre|lembra|guarde que|anota que|anote que|tenha em mente)\b",
    r"\b(?:zapamatuj|zapamatujte|pamatuj|pamatujte|zapiš si|měj na paměti)\b",
    r"\b(?:zapamiętaj|zapamiętajcie|pamiętaj|pamiętajcie|zanotuj|zapisz sobie)\b",
    r"\b(?:запомни|запомните|помни|помните|запиши|запишите|имей в виду|учти)\b",
    r"记住|記住|请记|請記|记下|記下|(?<![还還你])(?:记得|記得)",
    r"覚えて(?:おいて|いて|ください|ね)|覚えといて|記憶して|メモして",
    r"기억해|기억하세요|기억하렴|메모해",
)
"""The user asks for it outright."""

PREFER = (
    r"\bi(?:'d| would| really| also| still| do| don't| do not| never| always| usually"
    r"|'ve always)* (?:prefer|like|love|hate|want|enjoy|dislike|adore|detest)d?\b(?! (?:you|it if you) )"
    r"(?! to (?:know|see|check|look|try|test|run|read|show|find|ask)\b)",
    r"\bprefer(?:s|red|ences?)?\b|\bmy favou?rite\b|\bi(?:'m| am) (?:a (?:big |huge )?fan|fond) of\b",
    r"\bich (?:\w+ ){0,3}?(?:bevorzuge|mag|liebe|hasse|möchte|will|verabscheue)\b"
    r"(?!,? dass (?:du|sie)\b)(?!.{0,40} (?:sehen|wissen)\b)",
    r"\b(?:mag|liebe|hasse|bevorzuge) ich\b|\bziehe\b.{1,60}\bvor\b|\blieblings\w+|\bam liebsten\b",
    r"\blieber als\b",
    r"\b(?:trinke|esse|nutze|benutze|verwende|lese|höre) (?:ich )?(?:\w+ ){0,2}?(?:lieber|gern|gerne"
    r"|ungern)\b",
    r"\bje (?:ne )?(?:préfère|déteste|adore|veux|voudrais|hais)\b(?! (?:que tu|voir|savoir))",
    r"\bj'(?:aime|adore)\b|\bje n'aime\b",
    r"\bpréférée?s?\b",
    r"\b(?:prefiero|me gustan?|me encantan?|odio|detesto|quiero|adoro)\b(?! (?:que me|ver|saber))",
    r"\bmis? \w+ favorit[oa]s?\b",
    r"\b(?:preferisco|mi piace|mi piacciono|amo|adoro|odio|detesto|voglio|vorrei)\b(?! (?:che tu|vedere|sapere))",
    r"\bpreferit[oaie]\b",
    r"\b(?:prefiro|gosto d[eoa]s?|não gosto|adoro|odeio|detesto|quero)\b(?! (?:que|ver|saber))|\bfavorit[oa]s? é\b",
    r"\b(?:preferuj[iu]|radši|raději|m[aá]m (?:moc )?r[aá]da?|nemám rád[ay]?|nesnáším|miluj[iu]"
    r"|nenávidím)\b",
    r"\b(?:chci|nechci|oblíben\w+|(?:ne)?líbí se mi)\b(?!, abys)(?! (?:vidět|vědět))",
    r"\b(?:wolę|preferuję|lubię|kocham|uwielbiam|nienawidzę|nie znoszę|chcę|ulubion\w+"
    r"|podoba mi się)\b(?!, żebyś)(?! (?:zobaczyć|wiedzieć))",
    r"\b(?:предпочитаю|люблю|обожаю|ненавижу|терпеть не могу|хочу|мне (?:не )?нравит\w+|любим(?:ый"
    r"|ая|ое|ые))\b(?!, чтобы ты)(?! (?:видеть|увидеть|знать|узнать))",
    r"我.{0,6}?(?:喜欢|喜歡|偏好|偏爱|偏愛|讨厌|討厭|爱|愛|想要|不想)|最喜欢|最喜歡|宁愿|寧願|宁可|寧可",
    r"(?:大)?(?:好き|嫌い)(?:です|だ|な|で|じゃ)|(?:が|は)(?:大好き|好き|嫌い|苦手)|お気に入り|(?:方|ほう)が(?:いい|良い)|欲しい",
    r"좋아(?:해|합|하)|싫어(?:해|합|하)|선호(?:해|합|하)|사랑(?:해|합)|원(?:해요|합니다)|마음에 들|(?:제일|가장) 좋",
)
"""Likes, dislikes and wishes; not what the agent is told to do next."""

DECIDE = (
    r"\b(?:decided|agreed on|settled on|opted for)\b",
    r"\b(?:we|i)(?:'ve| have)? (?:chose|chosen|picked|went with)\b",
    r"\b(?:we|i)(?:'ll| will) (?:use|go with)\b|\bwill use\b|\bwe(?:'re| are) going with\b",
    r"\b(?:entschieden|entschlossen|beschlossen|vereinbart)\b|\buns .{0,40}\bgeeinigt\b",
    r"\bwir (?:nehmen|verwenden) ab\b",
    r"\b(?:avons|ai|a|sommes|suis) (?:\w+ )?(?:décidé\w*|choisi\w*|convenu\w*|opté)\b|\bnous utiliserons\b",
    r"\bon va utiliser\b",
    r"\b(?:decidí|decidimos|h?emos decidido|he decidido|acordamos|elegimos|usaremos|vamos a usar)\b",
    r"\b(?:abbiamo|ho) (?:deciso|scelto|concordato)\b|\buseremo\b",
    r"\b(?:decidi|decidimos|escolhemos|combinamos|usaremos|vamos usar)\b",
    r"\b(?:rozhodl\w*|dohodli jsme|vybrali jsme|budeme používat|použijeme)\b",
    r"\b(?:zdecydowa[lł]\w*|postanowi[lł]\w*|wybraliśmy|ustaliliśmy|będziemy używać|użyjemy)\b",
    r"\b(?:решил\w*|решено|договорил\w*|выбрали|будем использовать)\b",
    r"决定|決定(?!し|で|に)|选定|選定|选择了|選擇了|约定|約定|商定|(?:我们|我們)将?使用",
    r"(?:に|と)決め|ことにし(?:た|ました|よう)|決定し|に決定|を採用",
    r"하기로 (?:했|결정|정)|결정(?:했|하)|정했|채택",
)
"""What was settled."""

CALLED = (
    r"\b(?:is|are|was) (?:called|named)\b|\bgoes by\b",
    r"\bheißt\b|\bheißen\b|\bs'appelle(?:nt)?\b|\bse llaman?\b|\bsi chiama(?:no)?\b|\bse chamam?\b",
    r"\bchama-se\b",
    r"\bse jmenují?e?\b|\bjmenuje se\b|\bnazywa(?:ją)? się\b|\bma na imię\b",
    r"(?<!меня )\b(?:зовут|называется)\b",
    r"(?<!我)(?:叫做|名叫|叫)|という名前|と呼ばれ|(?<!제 )(?<!내 )이름은|라고 (?:해|합|불)",
)
"""Somebody or something has a name."""

CONTACT = (
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    r"\+\d[\d ()./-]{7,18}\d",
)
"""Addresses and numbers people are reached at."""

ABOUT = (
    r"\bmy \w+(?: \w+)? (?:is|are)\b|\b(?:is|are) my\b",
    r"\bi(?:'m| am) (?:an?|from|based|allergic|vegan|vegetarian|married)\b",
    r"\bi (?:live|work|study|moved|was born|grew up) (?:in|at|as|for|on|to|with|near)\b|\bcall me\b",
    r"\bmeine?[rmns]? \w+(?: \w+)? (?:ist|sind|heißt|heißen)\b|\bich heiße\b",
    r"\bich bin (?:eine?|aus|in|allergisch|vegan\w*|vegetarier\w*)\b",
    r"\bich (?:wohne|lebe|arbeite) (?:in|an|am|als|bei|für|mit)\b|\bnenne? mich\b",
    r"\b(?:mon|ma|mes) \w+ (?:est|sont|s'appelle(?:nt)?)\b|\bje m'appelle\b",
    r"\bje suis (?:une?|né|née|allergique|végétarien\w*|végane?)\b",
    r"\bj'habite\b|\bje (?:vis|travaille) (?:à|en|au|aux|chez|comme|dans|pour)\b|\bappelle[sz]?-moi\b",
    r"\bmis? \w+ (?:es|son|se llaman?)\b|\bme llamo\b|\b(?:vivo|trabajo|nací) (?:en|como|para|con)\b",
    r"\bsoy (?:una?|de|alérgic[oa]|vegan[oa])\b",
    r"\b(?:mio|mia|miei|mie) \w+ (?:è|sono|si chiama)\b|\bmi chiamo\b",
    r"\b(?:vivo|abito|lavoro) (?:a|in|al|come|per|con|da)\b",
    r"\bsono (?:una?|allergic[oa]|vegetarian[oa]|vegan[oa]|nat[oa])\b|\bchiamami\b",
    r"\b(?:meu|minha|meus|minhas) \w+ (?:é|são|se chama)\b|\b(?:me chamo|chamo-me)\b",
    r"\b(?:moro|vivo|trabalho) (?:em|na|no|como|com|para)\b",
    r"\bsou (?:uma?|de|alérgic[oa]|vegetarian[oa]|vegan[oa])\b",
    r"\b(?:můj|moje|mí) \w+ (?:je|jsou|se jmenuj\w+)\b|\bje (?:můj|moje)\b|\bjmenuj[iu] se\b",
    r"\b(?:bydlím|žiji|žiju|pracuj[iu]|narodila? jsem se) (?:v|ve|na|jako|pro|u)\b",
    r"\b(?:mój|moja|moje|moi) \w+ (?:to|jest|są|nazywa się|ma na imię)\b|\bnazywam się\b|\bmam na imię\b",
    r"\b(?:mieszkam|pracuję) (?:w|we|na|jako|dla|u)\b",
    r"\b(?:мой|моя|моё|мои) \w+(?: \w+)?(?: это\b| —| -|:| зовут\b| живет\b| работает\b)",
    r"\b(?:меня|мою \w+|моего \w+) зовут\b|\bя (?:живу|работаю|родил\w+) (?:в|на|как)\b",
    r"\bмо(?:й|я|ё) (?:имя|адрес|телефон|почта|номер|день рождения)\b",
    r"我(?:叫|是|住在|的.{1,8}?(?:是|叫|在))|我在.{1,12}?(?:工作|上班|住)",
    r"(?:私|僕|俺|わたし)の.{1,12}?は|(?:名前|誕生日|住所|電話番号)は|と申します|といいます|に住んで|で働いて",
    r"(?:제|내|저의|나의) .{1,8}?(?:은|는|이|가) ",
    r"(?:저는|나는) .{1,24}?(?:입니다|예요|이에요|이야)|에 살(?:아|고|았|습)|에서 일(?:해|하|합)",
)
"""The user tells of themselves and theirs."""

ALWAYS = (
    r"\balways\b|\bnever\b(?! mind)|\bimportant(?:ly)?\b",
    r"\bimmer\b(?! (?:noch|wieder))|\b(?:nie|niemals|wichtig\w*|auf keinen fall)\b",
    r"\b(?:toujours|jamais|important\w*)\b|\b(?:siempre|nunca|jamás|importante)\b",
    r"\b(?:sempre|non .{1,30} mai|mai più)\b",
    r"\b(?:vždy\w*|nikdy|důležit\w*)\b|\b(?:zawsze|nigdy|ważn[eya]\w*)\b",
    r"\b(?:всегда|никогда|важн[оыа]\w*)\b",
    r"总是|總是|永远|永遠|从不|從不|从来不|從來不|绝不|絕不|千万|千萬|重要|务必|務必",
    r"いつも|必ず|絶対|決して|二度と|大事|大切",
    r"항상|언제나|절대|결코|중요|반드시",
)
"""Rules, and what the user calls important."""

NEED = (
    r"\bi(?:'ll| will| really)? need\b(?! (?:you|help|to know))|\bich brauche\b(?! hilfe)|\bj'ai besoin d",
    r"\bil me faut\b",
    r"\bnecesito\b(?! (?:que|ayuda))|\bho bisogno d|\bmi serv(?:e|ono)\b|\b(?:preciso d[eoa]|necessito)\b",
    r"\bpotřebuj[iu]\b(?! pomoc)|\bpotrzebuję\b(?! pomocy)|\bмне (?:нужен|нужна|нужно|нужны)\b(?! помощь)",
    r"我需要|が必要(?:です|だ)|필요(?:해|합니다)",
)
"""What the user is looking for."""

STATE = (
    r"\b(?:is|are|has|have)\b|\b(?:ist|sind|hat|haben)\b|\b(?:est|sont)\b",
    r"\b(?:sono|são|jsou|jest|tiene|ha)\b|\b(?:это|есть)\b",
    r"是|です|입니다|이에요",
)
"""Something is said to be so: tells the category alone."""


FLEETING = (
    r"\b(?:i|we)(?:'d)? (?:really |also |do )?(?:like|love|hate|want|need) (?:it|this|that|these|those|them)"
    r"(?: (?:so much|a lot|very much|too|already))?(?=\W*(?:$|[.,;!]))",
)
"""Said of what stands right before it in the talk: means nothing on another day."""


def fold(text: str) -> str:
    """Return a text as the patterns expect it."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold().replace("’", "'")))
    return unicodedata.normalize("NFC", bare).replace("ł", "l")


@cache
def pattern(*groups: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern that any row of some groups fulfils, for folded text; made at its first use, in
    milliseconds.
    """
    return re.compile("|".join(f"(?:{fold(row)})" for group in groups for row in group), re.DOTALL)
