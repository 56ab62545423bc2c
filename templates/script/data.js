// What the page was given to show: recorded numbers, places in the source, and on a live page its program.
/** @typedef {[dtype: string, shape: number[], numbers: string | number[]]} Packed an array; web/page/program.py says how */
/** @typedef {{ layer: string, op: string, args: any[], out: [slot: number, shape: number[]][], inplace?: boolean }} Step */
/** @typedef {{ ports: string[], shape: number[], at: number | number[] } | null} Source where a figure is read; null: only recorded */
/**
 * A program with its numbers.
 * @typedef {object} Live
 * @property {{ ports: string[], operations: string[], steps: Step[] }} program
 * @property {Record<string, string>} families the family of each operation
 * @property {Record<string, Packed>} tensors parameters and buffers that all cases share
 * @property {Record<string, { inputs: Record<string, Packed>, tensors: Record<string, Packed>, way?: number }>} cases
 * @property {Source[]} matrices
 * @property {Source[]} vectors
 * @property {({ statistic: string, figure: [kind: "matrices" | "vectors", at: number] } | null)[]} metrics the statistic of a figure
 * @property {Record<string, string[]>} modules the ports of what each module gave
 * @property {{ inputs: string[], label: string, range: [number, number] | null } | null} control
 * @property {any[]} [ways] what stands in place of program, matrices, vectors and modules for cases that ran otherwise
 */
/**
 * @typedef {object} PageData
 * @property {string} slug
 * @property {[absolute: number, relative: number]} near numbers nearer than this are the same
 * @property {Record<string, [low: number, high: number]>} scales the ends of each figure's scale, by kind and place
 * @property {Record<string, (number | string)[][]>} figures by case, kind and place; text for what JSON has no number for
 * @property {Record<string, any[]>} metrics by case
 * @property {Record<string, string[]>} records the figures that each node is recorded in
 * @property {Record<string, any[]>} places where in the source each node is called
 * @property {Record<string, string>} parents
 * @property {Live | null} [live]
 */
/** @type {PageData} */
export const data = JSON.parse(document.getElementById("page-data").textContent);
