/** The nonce of this response's policy, which lets libraries add style elements; nothing else may. */
export function cspNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}
