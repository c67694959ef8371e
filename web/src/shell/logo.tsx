/** An envelope of three strokes. */
export function Logo({ size = 16 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round" aria-hidden>
      <path d="M2 5l8 6 8-6M2 15l5.5-5M18 15l-5.5-5" />
    </svg>
  );
}
