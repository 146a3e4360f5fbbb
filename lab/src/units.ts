/**
 * Figures as words.
 *
 * Covers: sizes in binary units, use against a limit, spans of time.
 * Does not cover: translation; numbers read the same everywhere.
 */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size with its unit, as in "1.30 GiB". */
export function sizeWords(bytes: number): string {
  const power = powerOf(bytes);
  return `${figure(bytes, power)} ${UNITS[power]}`;
}

/** Use against a limit in one unit, as in "1.30 / 2.80 GiB". */
export function useWords(usedBytes: number, limitBytes: number | null): string {
  if (limitBytes === null) {
    return sizeWords(usedBytes);
  }
  const power = powerOf(limitBytes);
  return `${figure(usedBytes, power)} / ${figure(limitBytes, power)} ${UNITS[power]}`;
}

/** The share of the limit in use; null where either is unknown. */
export function shareOf(usedBytes: number | null, limitBytes: number | null): number | null {
  return usedBytes === null || !limitBytes ? null : usedBytes / limitBytes;
}

/** A span of time, as in "40 s" or "12 min". */
export function spanWords(seconds: number): string {
  if (seconds < 100) {
    return `${Math.round(seconds)} s`;
  }
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function powerOf(bytes: number): number {
  const power = bytes > 0 ? Math.floor(Math.log2(bytes) / 10) : 0;
  return Math.max(0, Math.min(UNITS.length - 1, power));
}

function figure(bytes: number, power: number): string {
  const value = bytes / 1024 ** power;
  return value.toFixed(power < 2 || value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
