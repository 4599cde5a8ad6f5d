"""What days are called: months, weekdays, units, numbers and turns of phrase, by language, in lower case."""

from __future__ import annotations

from memd.text.query.days.units import Unit

_OTHER_MONTHS = """
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре
"""


def _numbered(table: str) -> dict[str, int]:
    """Return the number of each name by its place in its line, from 1."""
    return {
        name: number for line in table.strip().splitlines() for number, name in enumerate(line.split(), 1)
    }


ENGLISH_MONTHS = _numbered(
    "january february march april may june july august september october november december\n"
    "jan feb mar apr may jun jul aug sep oct nov dec"
) | {"sept": 9}
"""English months, short ones too."""

MONTHS = (
    _numbered(_OTHER_MONTHS)
    | {"jänner": 1, "maerz": 3, "fevrier": 2, "aout": 8, "decembre": 12}
    | ENGLISH_MONTHS
)
"""Those, and the months of German, French, Spanish, Portuguese, Italian and Russian."""

PLAIN_MONTHS = tuple("january february july september october november december".split())
"""English months that are nothing but months: no names of people, no verbs."""

ENGLISH_WEEKDAYS = _numbered("monday tuesday wednesday thursday friday saturday sunday")
"""English weekdays, Monday is 1."""

GERMAN_WEEKDAYS = _numbered("montag dienstag mittwoch donnerstag freitag samstag sonntag") | {"sonnabend": 6}
"""German weekdays, Monday is 1."""

_UNITS: dict[Unit, str] = {
    "day": "day days tag tage tagen jour jours día días dia dias giorno giorni день дня дней",
    "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane неделю недели недель",
    "month": "month months monat monate monaten mois mes meses mês mese mesi месяц месяца месяцев",
    "quarter": "quarter quarters quartal quartale quartalen",
    "year": "year years jahr jahre jahren an ans année années año años ano anos anno anni год года лет",
}

UNITS: dict[str, Unit] = {word: unit for unit, words in _UNITS.items() for word in words.split()}
"""Words for units."""

_NUMBERS = """
one two three four five six seven eight nine ten eleven twelve
ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
un deux trois quatre cinq six sept huit neuf dix onze douze
un dos tres cuatro cinco seis siete ocho nueve diez once doce
um dois três quatro cinco seis sete oito nove dez onze doze
un due tre quattro cinque sei sette otto nove dieci undici dodici
один два три четыре пять шесть семь восемь девять десять
одну две
uma duas
"""

NUMBERS = (
    _numbered(_NUMBERS)
    | dict.fromkeys("a an einem einer eine une una".split(), 1)
    | dict.fromkeys(("couple", "couple of", "a couple", "a couple of"), 2)
)
"""Numbers in words, articles too."""

FEW = ("a few", "few", "several", "ein paar", "einigen", "quelques", "unos", "alguns", "qualche", "несколько")
"""Words for a number that nobody counted."""

_PHRASES: dict[tuple[Unit, int], str] = {
    ("day", 0): """
        today; tonight; this morning; this afternoon; this evening; heute; aujourd'hui; hoy; hoje; oggi; stasera;
        stamattina; сегодня; heute morgen; heute abend; ce matin; ce soir; esta mañana; esta noche; esta manhã
        """,
    ("day", 1): """
        yesterday; last night; yesterday morning; yesterday afternoon; yesterday evening; gestern; gestern abend; hier;
        hier soir; ayer; anoche; ontem; ieri; ieri sera; вчера
        """,
    ("day", 2): """
        day before yesterday; vorgestern; avant-hier; avant hier; anteayer; antes de ayer; anteontem; altro ieri;
        позавчера
        """,
    ("week", 0): """
        this week; current week; diese woche; dieser woche; cette semaine; esta semana; questa settimana; этой неделе
        """,
    ("week", 1): """
        last week; previous week; letzte woche; letzter woche; vorige woche; voriger woche; vergangene woche;
        semaine dernière; semaine passée; semana pasada; semana passada; settimana scorsa; scorsa settimana;
        прошлой неделе; прошлой недели
        """,
    ("week", 2): "week before last; vorletzte woche; vorletzter woche",
    ("month", 0): """
        this month; current month; diesen monat; diesem monat; ce mois; ce mois-ci; este mes; este mês; questo mese;
        этот месяц; этом месяце
        """,
    ("month", 1): """
        last month; previous month; letzten monat; letztem monat; letzter monat; vorigen monat; vergangenen monat;
        mois dernier; mois passé; mes pasado; mês passado; mese scorso; scorso mese; прошлом месяце; прошлый месяц;
        прошлого месяца
        """,
    ("month", 2): "month before last; vorletzten monat",
    ("quarter", 0): "this quarter; current quarter; dieses quartal; diesem quartal; ce trimestre",
    ("quarter", 1): "last quarter; previous quarter; letztes quartal; letzten quartal",
    ("year", 0): """
        this year; current year; dieses jahr; diesem jahr; cette année; este año; este ano; quest'anno; этом году;
        этот год
        """,
    ("year", 1): """
        last year; previous year; letztes jahr; letzten jahr; letztem jahr; voriges jahr; vergangenes jahr;
        l'année dernière; année dernière; l'an dernier; año pasado; ano passado; anno scorso; scorso anno; прошлом году;
        прошлый год; прошлого года
        """,
    ("year", 2): "year before last; vorletztes jahr",
}

PHRASES: dict[str, tuple[Unit, int]] = {
    " ".join(phrase.split()): meant for meant, phrases in _PHRASES.items() for phrase in phrases.split(";")
}
"""Turns of phrase for the present day, week, month, quarter and year, and for those before them."""

_CJK_PHRASES: dict[tuple[Unit, int], str] = {
    ("day", 0): "今天 今日 今早 今晚 今晨 今朝 今夜 今儿 오늘",
    ("day", 1): "昨天 昨日 昨晚 昨夜 昨早 昨儿 きのう 어제 어젯밤",
    ("day", 2): "前天 前晚 一昨日 おととい 그저께 그제 엊그제",
    ("day", 3): "大前天",
    ("week", 0): "本周 这周 这一周 这个星期 这星期 本星期 这礼拜 这个礼拜 今周 이번주 금주",
    ("week", 1): "上周 上一周 上个星期 上星期 上礼拜 上个礼拜 先周 지난주 저번주",
    ("week", 2): "上上周 上上个星期 上上星期 先々周 지지난주",
    ("month", 0): "本月 这个月 这月 今月 이번달",
    ("month", 1): "上个月 上月 先月 지난달 저번달",
    ("month", 2): "上上个月 上上月 先々月 지지난달",
    ("quarter", 0): "本季度 这个季度 今四半期 이번분기",
    ("quarter", 1): "上季度 上个季度 上一季度 前四半期 지난분기",
    ("year", 0): "今年 本年 올해 금년",
    ("year", 1): "去年 昨年 작년 지난해",
    ("year", 2): "前年 一昨年 おととし 재작년",
}

CJK_PHRASES: dict[str, tuple[Unit, int]] = {
    phrase: meant for meant, phrases in _CJK_PHRASES.items() for phrase in phrases.split()
}
"""The same in Chinese, Japanese and Korean, without spaces and in simplified letters."""

YEARS_BACK = {phrase: back for phrase, (unit, back) in CJK_PHRASES.items() if unit == "year"} | dict.fromkeys(
    ("明年", "来年", "내년"), -1
)
"""Years that may stand before a month: how long ago each is."""

SIMPLIFIED = str.maketrans("週這個號禮後來兩間從過與幾", "周这个号礼后来两间从过与几")
"""Traditional letters in the words above, to the simplified ones."""

NARROW = str.maketrans("０１２３４５６７８９–—−〜～~’　", "0123456789------' ")
"""Wide digits, dashes of every length, a curly apostrophe and a wide space, to plain ones."""
