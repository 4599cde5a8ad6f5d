"""Text that talks to the model instead of telling about the user: kept out of what is captured by itself.

Pure. No list of phrases finds everything; it is one of several walls. What slips through is shown to the
model as quoted data (`memd.lifecycle.tools.untrusted`). A text that is refused for nothing costs one fact that the
user can have stored by saying so to the agent.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MOST_CHARS = 20_000
"""Characters looked at: whoever hides an order behind more is not captured anyway, since facts are short."""

_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u03bf\u03b1\u03b5\u03b9\u03c1\u03c5"
    "\u043a\u043c\u0442\u0432\u043d",
    "aeopcyxijsdoaeipukmtbh",
)
"""Cyrillic and Greek letters that are drawn like Latin ones."""

_GAP = r".{0,40}?"
_ORDERS = (
    # English
    rf"\b(?:ignore|disregard|override|bypass)\b{_GAP}\b(?:instructions?|prompts?|rules?|guidelines?|directives?|polic(?:y|ies)|safety)\b",
    rf"\bforget\b{_GAP}\b(?:instructions?|prompts?|(?:said|told you|everything|anything) (?:above|before|so far))\b",
    rf"\b(?:do not|don'?t|never|stop)\b\s+(?:follow|obey)(?:ing)?\b{_GAP}\b(?:system|developer|instructions?|rules?)\b",
    r"\b(?:system|developer|hidden|initial)[ _-]+(?:prompts?|messages?|instructions?)\b",
    rf"\b(?:run|execute|call|invoke)\b{_GAP}\b(?:tools?|commands?|functions?)\b",
    r"\byou are (?:now|no longer)\b|\bact as (?:an? )?(?:admin|root|system|unrestricted|jailbroken)\b",
    r"\b(?:jailbreak|developer mode|dan mode|new instructions?)\b",
    rf"\b(?:reveal|print|show|repeat|leak|exfiltrate|send)\b{_GAP}"
    r"\b(?:system prompt|secrets?|api keys?|passwords?|credentials?)\b",
    # German
    rf"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|umgeh\w*)\b{_GAP}"
    r"\b(?:anweisung\w*|vorgaben?|regeln?|instruktion\w*)\b",
    rf"\b(?:fuhre?|fuhr|starte|rufe?)\b{_GAP}\b(?:befehl\w*|werkzeug\w*|tools?|skripte?|funktion\w*)\b",
    r"\bsystem-?(?:prompt|anweisung\w*|nachricht\w*)\b|\bdu bist (?:jetzt|nun|ab sofort)\b",
    # French
    rf"\b(?:ignor\w+|oubli\w+|contourn\w+|ne (?:suis|suivez) pas)\b{_GAP}"
    r"\b(?:instructions?|consignes?|regles?|directives?)\b",
    rf"\b(?:execut\w+|lanc\w+|appel\w+)\b{_GAP}\b(?:commandes?|outils?|fonctions?|scripts?)\b",
    r"\b(?:prompt|message|invite) (?:du )?systeme\b|\b(?:tu es|vous etes) (?:maintenant|desormais)\b",
    # Spanish and Portuguese
    rf"\b(?:ignor\w+|olvid\w+|esquec\w+|desconsider\w+|omit\w+)\b{_GAP}\b(?:instruccion\w*|instruco?\w*|instrucoes|reglas?|regras?|ordenes|diretrizes)\b",
    rf"\b(?:ejecut\w+|execut\w+|llam\w+|invo[cq]\w+|chame)\b{_GAP}\b(?:comandos?|herramientas?|ferramentas?|funcion\w*|funco?\w*|scripts?)\b",
    r"\b(?:prompt|mensaje|mensagem|instruccion\w*) d[eo]l? sistema\b|\b(?:ahora|agora) (?:eres|voce e)\b",
    # Italian
    rf"\b(?:ignor\w+|dimentic\w+|trascur\w+)\b{_GAP}\b(?:istruzion\w+|regole?|indicazion\w+)\b",
    rf"\b(?:esegu\w+|lanci\w*|chiam\w+)\b{_GAP}\b(?:comand\w+|strument\w+|funzion\w+|script)\b",
    r"\b(?:prompt|messaggio) di sistema\b|\b(?:ora|adesso) sei\b",
    # Czech and Polish
    rf"\b(?:ignoruj\w*|zapomen\w*|pomin\w*|zignoruj\w*|zapomnij\w*)\b{_GAP}\b(?:instrukc\w*|pokyn\w*|pravidl\w*|polecen\w*|zasad\w*)\b",
    rf"\b(?:spust\w*|proved\w*|vykon\w*|zavolej\w*|uruchom\w*|wykon\w*|wywol\w*)\b{_GAP}\b(?:prikaz\w*|nastroj\w*|skript\w*|polecen\w*|narzedzi\w*|funkc\w*|komend\w*)\b",
    r"\bsystemov\w+ (?:prompt|zprav\w+|pokyn\w*)\b|\b(?:prompt|komunikat|wiadomosc) systemow\w+\b",
    # Russian
    rf"(?:игнорир\w*|забуд\w*|отмен\w*|не следуй\w*){_GAP}(?:инструкц\w*|указани\w*|правил\w*)",
    rf"\b(?:выполн\w*|запуст\w*|вызов\w*){_GAP}(?:команд\w*|инструмент\w*|скрипт\w*|функци\w*)",
    r"системн\w+ (?:промпт|сообщени|инструкци|подсказк)\w*|\bты (?:теперь|больше не)\b",
    # Chinese
    r"(?:忽略|无视|無視|忘记|忘記|不要遵守|绕过|繞過).{0,20}?(?:指令|指示|规则|規則|提示|命令)",
    r"(?:执行|執行|运行|運行|调用|調用).{0,20}?(?:命令|工具|脚本|腳本|函数|函數|指令)",
    r"系统(?:提示|消息|指令)|系統(?:提示|訊息|指令)|你现在是|你現在是",
    # Japanese
    r"(?:指示|命令|ルール|規則|プロンプト).{0,20}?(?:無視|忘れ|従わない|破棄)",
    r"(?:コマンド|ツール|スクリプト|関数).{0,20}?(?:実行|呼び出|起動)",
    r"システム(?:プロンプト|メッセージ|指示)|あなたは(?:今から|これから)",
    # Korean
    r"(?:지시|명령|규칙|프롬프트).{0,20}?(?:무시|잊어|따르지)",
    r"(?:명령|도구|스크립트|함수).{0,20}?(?:실행|호출)",
    r"시스템\s?(?:프롬프트|메시지|지시)|너는 이제|당신은 이제",
    # what only machines write
    r"<\s*/?\s*(?:system|assistant|developer|user|tool|function|relevant[-_]memor\w+|memory[-_]context)\b",
    r"<\|\w+\|>|\[/?inst\]|<<\s*/?sys\s*>>|^\s*#{1,6} ?(?:system|instructions?)\b",
    r"^\s*(?:system|assistant|developer)\s*:",
)


@cache
def _order() -> re.Pattern[str]:
    """Return one pattern of them all; it takes some milliseconds to make."""
    return re.compile("|".join(f"(?:{order})" for order in _ORDERS), re.MULTILINE | re.DOTALL)


def is_injection(text: str) -> bool:
    """Return whether a text reads like orders to a model."""
    plain, composed = _plain(text[:MOST_CHARS])
    return any(_order().search(each) is not None for each in {plain, composed, plain.translate(_LOOKALIKES)})


def _plain(text: str) -> tuple[str, str]:
    """Return a text in small letters with single spaces: without accents, and with them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    shown = "".join(
        each for each in folded if unicodedata.category(each) not in ("Cf", "Mn") or each == "\u3099"
    )
    shown = re.sub(r"[^\S\n]+", " ", shown)
    bare = unicodedata.normalize("NFKD", shown)
    without = "".join(each for each in bare if not unicodedata.combining(each)).replace("ł", "l")
    return without, shown
