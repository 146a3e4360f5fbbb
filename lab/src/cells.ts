/**
 * The cell that a verdict speaks of.
 *
 * Covers: finding it by its id, else by its execution count where that is the only one; showing and marking it.
 * Does not cover: consoles, whose cells cannot be gone back to.
 */
import type { Cell, ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { IWhere } from './api';
import { Host } from './hosts';

const DIED = 'crashcart-mod-died';

/** The cell; null where it is not to be found (any more). */
export function findCell(host: Host, where: IWhere): Cell | null {
  if (!(host instanceof NotebookPanel) || host.isDisposed) {
    return null;
  }
  const cells = host.content.widgets;
  const byId = where.cell_id ? cells.find(cell => cell.model.id === where.cell_id) : undefined;
  if (byId !== undefined || where.cell === null || where.cell === undefined) {
    return byId ?? null;
  }
  const byCount = cells.filter(cell => isCode(cell.model) && cell.model.executionCount === Number(where.cell));
  return byCount.length === 1 ? byCount[0] : null;
}

function isCode(model: ICellModel): model is ICodeCellModel {
  return model.type === 'code';
}

/** Mark the cell until it runs again; returns what takes the mark off. */
export function markCell(cell: Cell): () => void {
  const unmark = () => {
    cell.removeClass(DIED);
    cell.model.stateChanged.disconnect(onChange);
  };
  const onChange = (_: unknown, change: { name: string }) => {
    if (change.name === 'executionCount' || change.name === 'execution_count') {
      unmark();
    }
  };
  cell.addClass(DIED);
  cell.model.stateChanged.connect(onChange);
  return unmark;
}

/** Scroll to the cell and put the cursor into the line. */
export async function showCell(host: Host, cell: Cell, line: number | null): Promise<void> {
  if (!(host instanceof NotebookPanel) || cell.isDisposed) {
    return;
  }
  host.content.activeCellIndex = host.content.widgets.indexOf(cell);
  await host.content.scrollToCell(cell, 'center');
  if (line !== null && cell.editor && line <= cell.editor.lineCount) {
    cell.editor.setCursorPosition({ line: line - 1, column: 0 });
    cell.editor.focus();
  }
}
