/** @service books.v1.Books */
export interface Books {
  get(request: GetRequest): Promise<Book>;
  add(book: Book): Promise<Book>;
}

export interface GetRequest {
  /** @minLength 1 */
  id: string;
}

export interface Book extends GetRequest {
  /** @minLength 1 */
  title: string;
  /**
   * @int
   * @min 1
   */
  pages: number;
}
