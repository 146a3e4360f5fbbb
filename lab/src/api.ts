/**
 * What crashcart's part of the Jupyter server answers.
 *
 * Covers: the two questions, and telling a server without crashcart from a kernel that is not watched.
 * Does not cover: showing anything.
 */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** Use of memory at one moment; each figure may be unknown. */
export interface IMemory {
  used_bytes: number | null;
  limit_bytes: number | null;
  rss_bytes: number | null;
  at_unix_s: number;
}

/** A moment and the bytes in use. */
export type Point = [number, number];

/** A step that the guard took. */
export interface IGuardStep {
  at_unix_s: number;
  text: string;
  step: string | null;
}

/** One death in a line. */
export interface IDeath {
  recording: string;
  at_unix_s: number | null;
  headline: string | null;
  cause: string | null;
  confidence: string | null;
  cell: string | number | null;
  cell_id: string | null;
  line: number | null;
}

/** What is known of a kernel. */
export interface IKernelState {
  watched: boolean;
  /** It was watched and has ended; between two lives it will be watched again in a moment. */
  ended: boolean;
  reason: string | null;
  now_unix_s: number;
  memory: IMemory | null;
  history?: Point[];
  guard: IGuardStep[];
  deaths: IDeath[];
}

/** A place in the user's own code. */
export interface IWhere {
  file?: string | null;
  line?: number | null;
  source?: string | null;
  cell?: string | number | null;
  cell_id?: string | null;
  /** How long before the end the place was seen; null where it is the very end. */
  age_s?: number | null;
}

/** One conclusion of a report. */
export interface IFinding {
  headline: string;
  cause: string;
  confidence: string;
  because: string[];
  remedy: string[];
  held?: string[];
  where?: IWhere | null;
}

/** One death in full. */
export interface IDeathReport {
  document: { findings: IFinding[] };
  html: string;
  history: Point[];
  limit_bytes: number | null;
}

/** The server has no crashcart, or one that does not answer this question. */
export class ServerPartMissing extends Error {}

/** What is known of a kernel now; `withHistory` adds the curve of its memory. */
export function kernelState(kernelId: string, withHistory = false): Promise<IKernelState> {
  return ask<IKernelState>(`kernels/${encodeURIComponent(kernelId)}${withHistory ? '?history=1' : ''}`);
}

/** The report on one death. */
export function deathReport(kernelId: string, recording: string): Promise<IDeathReport> {
  return ask<IDeathReport>(`kernels/${encodeURIComponent(kernelId)}/deaths/${encodeURIComponent(recording)}`);
}

async function ask<Answer>(question: string): Promise<Answer> {
  const settings = ServerConnection.makeSettings();
  const url = URLExt.join(settings.baseUrl, 'crashcart', question);
  const response = await ServerConnection.makeRequest(url, { method: 'GET' }, settings);
  const isOurs = (response.headers.get('Content-Type') ?? '').includes('application/json');
  if (response.status === 404 && !isOurs) {
    throw new ServerPartMissing('crashcart is not part of this Jupyter server');
  }
  if (!response.ok) {
    throw await ServerConnection.ResponseError.create(response);
  }
  return (await response.json()) as Answer;
}
