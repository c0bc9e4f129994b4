/** The text of a file as people bring it: modelers on Windows still write EUC-KR, Windows-1252 or UTF-16. */

const DECLARED = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z][\w.-]{0,39})["']/;
const UTF8 = "utf-8";

/** In the encoding that its first bytes or its first line say, else UTF-8. Where it is not in that, what `refusal` says of it is thrown. */
export async function fileText(file: Blob, refusal: (encoding: string) => string): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = encodingOf(bytes);
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: encoding === UTF8 }).decode(bytes);
  } catch {
    throw new Error(refusal(encoding.toUpperCase()));
  }
}

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || second === 0) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && bytes.length > 1)) return "utf-16be";
  if (first === 0xef) return UTF8;
  const declared = DECLARED.exec(new TextDecoder("latin1").decode(bytes.subarray(0, 300)))?.[1]?.toLowerCase() ?? UTF8;
  return /^(utf-?8|us-ascii|ascii|utf-?16.*)$/.test(declared) ? UTF8 : declared;
}
