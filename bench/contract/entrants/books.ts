/** The books of all entrants. */
export interface Stored {
  id: string;
  title: string;
  pages: number;
}

export const books = new Map<string, Stored>();
