/**
 * Memory over time as a drawing.
 *
 * Covers: the curve, the limit, the ends of both axes, words for readers who do not see it. Colours come from the style
 * sheet by class.
 * Does not cover: where the points come from.
 */
import { Point } from './api';
import { sizeWords, spanWords } from './units';

const SVG = 'http://www.w3.org/2000/svg';
const LEFT = 62;
const RIGHT = 8;
const TOP = 18;
const BOTTOM = 22;
const HEADROOM = 1.08;

/** What is drawn, and in which words its axes are labelled. */
export interface ICurve {
  points: Point[];
  limitBytes: number | null;
  width: number;
  height: number;
  title: string;
  limitWord: string;
  endWord: string;
}

/** The drawing; null where there is nothing to draw. */
export function drawCurve(curve: ICurve): SVGElement | null {
  if (curve.points.length < 2) {
    return null;
  }
  const plane = new Plane(curve);
  const svg = tag('svg', { class: 'crashcart-Curve', viewBox: `0 0 ${curve.width} ${curve.height}`, role: 'img' });
  svg.setAttribute('aria-label', told(curve));
  svg.append(...plane.ticks(), ...plane.limit(), ...plane.curve());
  return svg;
}

/** The curve in a sentence. */
function told(curve: ICurve): string {
  const last = curve.points[curve.points.length - 1];
  const peak = Math.max(...curve.points.map(point => point[1]));
  const limit = curve.limitBytes === null ? '' : `, ${curve.limitWord} ${sizeWords(curve.limitBytes)}`;
  return `${curve.title}: ${sizeWords(last[1])} (max. ${sizeWords(peak)}${limit})`;
}

class Plane {
  private readonly first: number;
  private readonly span: number;
  private readonly most: number;

  constructor(private readonly what: ICurve) {
    this.first = what.points[0][0];
    this.span = Math.max(what.points[what.points.length - 1][0] - this.first, 0.001);
    const peak = Math.max(...what.points.map(point => point[1]));
    this.most = Math.max(peak, what.limitBytes ?? 0, 1) * HEADROOM;
  }

  /** The ends of the axes. */
  ticks(): SVGElement[] {
    const { width, height, endWord } = this.what;
    const top = this.what.limitBytes ?? this.most / HEADROOM;
    const sizes = [0, top / 2, top].flatMap(bytes => [
      tag('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: this.y(bytes), y2: this.y(bytes) }),
      text(sizeWords(bytes), { x: LEFT - 6, y: this.y(bytes) + 4, 'text-anchor': 'end' })
    ]);
    return [
      ...sizes,
      text(`−${spanWords(this.span)}`, { x: LEFT, y: height - 6 }),
      text(endWord, { x: width - RIGHT, y: height - 6, 'text-anchor': 'end' })
    ];
  }

  /** The limit, where one is known. */
  limit(): SVGElement[] {
    const bytes = this.what.limitBytes;
    if (bytes === null) {
      return [];
    }
    const y = this.y(bytes);
    return [
      tag('line', { class: 'limit', x1: LEFT, x2: this.what.width - RIGHT, y1: y, y2: y }),
      text(this.what.limitWord, { class: 'limit', x: LEFT + 6, y: y - 5 })
    ];
  }

  /** The curve over a filled area. */
  curve(): SVGElement[] {
    const places = this.what.points.map(([at, bytes]) => `${this.x(at).toFixed(1)} ${this.y(bytes).toFixed(1)}`);
    const line = `M${places.join('L')}`;
    const floor = this.y(0).toFixed(1);
    const area = `${line}L${this.what.width - RIGHT} ${floor}L${LEFT} ${floor}Z`;
    return [tag('path', { class: 'area', d: area }), tag('path', { class: 'curve', d: line })];
  }

  private x(at: number): number {
    return LEFT + ((at - this.first) / this.span) * (this.what.width - LEFT - RIGHT);
  }

  private y(bytes: number): number {
    const bottom = this.what.height - BOTTOM;
    return bottom - (bytes / this.most) * (bottom - TOP);
  }
}

function tag(name: string, attributes: Record<string, string | number>): SVGElement {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, typeof value === 'number' ? value.toFixed(1) : value);
  }
  return node;
}

function text(words: string, attributes: Record<string, string | number>): SVGElement {
  const node = tag('text', attributes);
  node.textContent = words;
  return node;
}
