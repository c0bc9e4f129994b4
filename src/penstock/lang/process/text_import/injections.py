"""Sentences of a manual that talk to the model that reads it, and not to the people who work."""

from __future__ import annotations

import re

from penstock.errors import Finding, Place
from penstock.lang.process.text_import.manual_text import ManualText, Sentence

_TO_A_MODEL = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|these|system)\b.{0,30}"
    r"\b(?:instructions?|prompts?|rules|directions|text|messages?)\b"
    r"|\b(?:system|developer)\s+(?:prompt|message)\b|\byou are (?:now )?(?:an?|the) (?:AI|assistant|language model"
    r"|LLM|chatbot)\b"
    r"|\bas an? (?:AI|language model|assistant)\b|<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]"
    r"|\b(?:respond|reply|answer|output)\s+(?:only\s+)?with\b.{0,60}\b(?:json|definition|activity|activities)\b"
    r"|(?:이전|앞선|위|기존|지금까지)의?\s*(?:모든\s*)?(?:지시|명령|프롬프트"
    r"|규칙)(?:사항)?[을를은는]?\s*(?:모두\s*)?(?:무시|잊)"
    r"|시스템\s*프롬프트|(?:당신|너)은?는?\s*(?:이제\s*)?(?:AI|인공지능|언어\s*모델|챗봇)",
    re.I | re.S,
)


def without_instructions(manual: ManualText) -> tuple[ManualText, list[Finding]]:
    """The manual with spaces where such sentences stand, so that all places stay as they are, and each as a finding."""
    text = manual.text
    findings: list[Finding] = []
    kept = []
    for sentence in manual.sentences:
        if not _TO_A_MODEL.search(sentence.text):
            kept.append(sentence)
            continue
        first, last = _blank_from(text, sentence)
        text = text[:first] + " " * (last - first) + text[last:]
        shown = sentence.text if len(sentence.text) <= 80 else f"{sentence.text[:79]}…"
        findings.append(Finding(
            "instruction_to_model", "warning",
            f"Page {sentence.page}, line {sentence.line}: «{shown}» speaks to a model, and was not read.",
            Place(line=sentence.line, column=1), "Look who has written this manual, and whether you trust it.",
        ))  # fmt: skip
    return (ManualText(text, kept), findings) if findings else (manual, [])


def _blank_from(text: str, sentence: Sentence) -> tuple[int, int]:
    """Where a sentence stands; with the mark of its step where nothing else is in its line."""
    start, end = text.rfind("\n", 0, sentence.start) + 1, text.find("\n", sentence.end)
    end = len(text) if end < 0 else end
    alone = not re.sub(r"[\W\d]", "", text[start : sentence.start] + text[sentence.end : end])
    return (start, end) if alone else (sentence.start, sentence.end)
