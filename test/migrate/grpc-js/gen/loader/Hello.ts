// Original file: proto/hello.proto


export interface Hello {
  'name'?: (string);
}

export interface Hello__Output {
  'name': (string);
}
